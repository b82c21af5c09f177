// What a repository answers in the same way wherever its WebAssembly runs, made of `ask`,
// `pin` and `readBytes`.

import { pages } from "./pages.js";
import { Snapshot } from "./snapshot.js";

export class Questions {
  /** The refs as the host has them now. */
  refs(query = {}) {
    return pages(this, "refs", query).toArray();
  }

  /** Asks the host again where its refs are; snapshots taken before stay where they are. */
  refresh(query = {}) {
    return this.refs(query);
  }

  /** Pins `name` (a branch, tag, full ref or id) to its commit. */
  async snapshot(name = "HEAD", options = {}) {
    return new Snapshot(this, await this.pin(name, options));
  }
}
