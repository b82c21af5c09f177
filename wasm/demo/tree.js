// The file tree: a folder is listed when it is opened.

import { textOf } from "gitsip/connect";

/** The list of what is in the folder `path`; `open` is called with a file's path. */
export async function treeOf(snap, path, open) {
  const list = document.createElement("ul");
  const entries = await snap.ls(path);
  const isFolder = ({ type }) => type === "folder";
  const sorted = [...entries.filter(isFolder), ...entries.filter((entry) => !isFolder(entry))];
  for (const entry of sorted) {
    const item = document.createElement("li");
    item.append(isFolder(entry) ? folder(snap, entry, open) : file(entry, open));
    list.append(item);
  }
  return list;
}

function folder(snap, entry, open) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = nameOf(entry);
  details.append(summary);
  const list = async () => details.append(await treeOf(snap, textOf(entry.path), open));
  details.addEventListener("toggle", list, { once: true });
  return details;
}

function file(entry, open) {
  const button = document.createElement("button");
  button.className = "file";
  button.textContent = entry.type === "submodule" ? `${nameOf(entry)} (submodule)` : nameOf(entry);
  button.disabled = entry.type === "submodule";
  button.addEventListener("click", () => open(textOf(entry.path)));
  return button;
}

function nameOf(entry) {
  return textOf(entry.path).split("/").at(-1);
}
