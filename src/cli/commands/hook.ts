/** `ctxbridge help hook`. Real hook calls take the hot path (main.ts) and never come here. */

import { usageError } from "../../base/errors.ts"
import { EVENTS } from "../../record/hook-event.ts"
import type { Command } from "../command.ts"

export default {
  meta: {
    name: "hook",
    description: "Called by Claude Code; reads its JSON on stdin",
    hidden: true,
    badOptions: "unread",
  },
  args: {
    event: {
      type: "positional",
      required: true,
      valueHint: [...EVENTS, "pre-tool-use"].join("|"),
      description: "What has happened; docs/hooks.md says what is done then",
    },
  },
  run() {
    throw usageError("hook is called by Claude Code", "`ctxbridge install` registers it there")
  },
} satisfies Command
