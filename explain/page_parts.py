"""What is the same on every page of an alignment: frame, look and behaviour.

`PAGE` is for `str.format`; `STYLE` and `SCRIPT` stand in it as they are, since the page names their
hashes.
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p class="details">{details}</p>
<h2 id="source-name">Source</h2>
<ul id="source" dir="auto" aria-labelledby="source-name">
{source}
</ul>
<h2 id="target-name">Output <small>(point at a word, or walk by Tab and the arrow keys)</small></h2>
<ul id="target" dir="auto" aria-labelledby="target-name">
{target}
</ul>
<p id="lit" role="status" aria-live="polite"></p>
<p class="note">{note}</p>
<script>{script}</script>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --strong: 8, 48, 107; --ink: #1b2733; --paper: #fff;
  --line: #b8c2cc; --quiet: #586673; --on-strong: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --strong: 107, 174, 214; --ink: #e8edf2; --paper: #14191f; --line: #44505c;
    --quiet: #9aa8b5; --on-strong: #0b1117; }
}
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.2rem; margin: 0; }
h2 { font-size: 0.95rem; margin: 1.5rem 0 0.5rem; }
h2 small, .details, .note { color: var(--quiet); font-weight: normal; font-size: 0.85rem; }
ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.35rem; }
.word { display: inline-block; font: inherit; font-size: 1.2rem; color: inherit;
  padding: 0.1em 0.4em; border: 1px solid var(--line); border-radius: 0.3em; white-space: pre-wrap;
  overflow-wrap: anywhere; background: rgba(var(--strong), var(--weight, 0)); }
.word.strong { color: var(--on-strong); }
button.word { cursor: pointer; background: none; }
button.word:hover, button.word:focus-visible, button.word[aria-pressed="true"] {
  outline: 2px solid rgb(var(--strong)); outline-offset: 1px; }
#lit { min-height: 3em; }
"""

SCRIPT = """
"use strict";
const source = Array.from(document.querySelectorAll("#source .word"));
const target = Array.from(document.querySelectorAll("#target button"));
const lit = document.getElementById("lit");
let kept = null;

function light(button) {
  const weights = button ? button.dataset.weights.split(" ").map(Number) : [];
  source.forEach((word, place) => {
    const weight = weights[place] || 0;
    word.style.setProperty("--weight", weight);
    word.classList.toggle("strong", weight > 0.5);
    if (button) word.dataset.lit = weight.toFixed(4); else delete word.dataset.lit;
    word.title = button ? weight.toFixed(3) : "";
  });
  const best = weights.map((weight, place) => [weight, source[place].textContent])
    .sort((one, other) => other[0] - one[0]).slice(0, 5).filter(([weight]) => weight >= 0.01);
  lit.textContent = best.map(([weight, text]) => `${text} ${weight.toFixed(2)}`).join(" · ");
}

function keep(button) {
  kept = kept === button ? null : button;
  target.forEach((other) => other.setAttribute("aria-pressed", String(other === kept)));
  light(kept || button);
}

target.forEach((button, place) => {
  button.addEventListener("mouseenter", () => light(button));
  button.addEventListener("mouseleave", () => light(kept));
  button.addEventListener("focus", () => light(button));
  button.addEventListener("blur", () => light(kept));
  button.addEventListener("click", () => keep(button));
  button.addEventListener("keydown", (event) => {
    const forward = getComputedStyle(button.closest("ul")).direction === "rtl" ? -1 : 1;
    const step = { ArrowRight: forward, ArrowLeft: -forward }[event.key];
    const next = step && target[place + step];
    if (next) { next.focus(); event.preventDefault(); }
  });
});
"""
