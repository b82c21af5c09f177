// What is read: a file with the numbers of its lines, or hits with what matched.

import { bytesOf, textOf } from "gitsip/connect";

/** Lines that are shown of a file: more is no reading. */
const MAX_LINES = 20_000;

/** Shows `file` in `view`, from `line` on if one is given. */
export function showFile(view, file, line) {
  const lines = file.text().split("\n").slice(0, MAX_LINES);
  const shown = lines.map((text, i) => row("div", "line", i + 1, text));
  view.replaceChildren(heading(file.path), ...shown);
  view.scrollTop = 0;
  const target = shown[line - 1];
  target?.classList.add("shown");
  target?.scrollIntoView({ block: "center" });
  view.focus();
}

/** Shows `hits` in `view`; `open` is called with the path and line of one that is chosen. */
export function showHits(view, hits, open) {
  const rows = [];
  let last;
  for (const hit of hits) {
    const path = textOf(hit.path);
    if (path !== last) rows.push(heading(path));
    last = path;
    const button = row("button", "hit", hit.line, ...marked(hit));
    button.addEventListener("click", () => open(path, hit.line));
    rows.push(button);
  }
  view.replaceChildren(...rows);
  view.scrollTop = 0;
}

/** The pieces of a hit's text, what matched marked. Ranges are in bytes. */
function marked({ text, ranges }) {
  const bytes = bytesOf(text);
  const decode = (start, end) => new TextDecoder().decode(bytes.subarray(start, end));
  const pieces = [];
  let at = 0;
  for (const { start, end } of ranges) {
    const mark = document.createElement("mark");
    mark.textContent = decode(start, end);
    pieces.push(decode(at, start), mark);
    at = end;
  }
  return [...pieces, decode(at)];
}

function row(tag, className, number, ...content) {
  const made = document.createElement(tag);
  made.className = className;
  made.dataset.number = number;
  made.append(...content);
  return made;
}

function heading(path) {
  const made = document.createElement("div");
  made.className = "path";
  made.textContent = path;
  return made;
}
