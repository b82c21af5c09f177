// Text that may be no UTF-8, as answers write it: `{ text }` or `{ bytes }` in base64.

/** The text as a string, with U+FFFD where it is no UTF-8. */
export function textOf(text) {
  if (text.text !== undefined) return text.text;
  return new TextDecoder().decode(bytesOf(text));
}

/** The text as bytes. */
export function bytesOf(text) {
  if (text.text !== undefined) return new TextEncoder().encode(text.text);
  return Uint8Array.from(atob(text.bytes), (character) => character.charCodeAt(0));
}
