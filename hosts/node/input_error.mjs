/** What was given cannot be used; the message says what was expected and how to mend it. */
export class InputError extends Error {}
