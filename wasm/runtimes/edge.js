// An edge worker that answers with what came from the address in its own.

import { use } from "./use.js";

export default {
  async fetch(request) {
    return Response.json(await use(new URL(request.url).searchParams.get("repo")));
  },
};
