/** `ctxbridge prune`: four ways to keep Claude Code's window lean. */
import { usageError } from "../../util/errors.ts"
import { words } from "../args.ts"
import { type Command, flag, option } from "../command.ts"
import { pruneProxy } from "../prune/proxy.ts"
import { pruneRecommend } from "../prune/recommend.ts"
import { pruneNative, prunePatch, prunePlugin } from "../prune/set-ways.ts"
import { pruneStatus } from "../prune/status.ts"

const ACTIONS = {
  status: pruneStatus,
  recommend: pruneRecommend,
  native: pruneNative,
  plugin: prunePlugin,
  proxy: pruneProxy,
  patch: prunePatch,
}

const NAMES = Object.keys(ACTIONS)
const isAction = (name: string): name is keyof typeof ACTIONS => Object.hasOwn(ACTIONS, name)

export default {
  meta: { name: "prune", description: "Keep Claude Code's context window lean" },
  args: {
    action: {
      type: "positional",
      description: "What to show or do (default: status)",
      valueHint: NAMES.join("|"),
    },
    revert: flag("native, plugin, patch: undo it"),
    check: flag("patch: only check whether it is patched"),
    "dry-run": flag("native, plugin, patch: show what would be done; write nothing"),
    trigger: option("native: clear old output above this many tokens (default: 50000)", "N"),
    keep: option("native: latest tool outputs to keep (default: 10)", "N"),
    window: option("native: window that Claude Code assumes, in tokens, at least 100000", "N"),
    percent: option("native: share of the window at which Claude Code compacts", "N"),
    target: option("patch: the cli.js to patch, or its folder", "PATH"),
    port: option("proxy: the port to listen on (default: any free one)", "N"),
  },
  run(context) {
    const [action = "status", surplus] = words(context.args)
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, "ctxbridge prune --help")
    if (!isAction(action)) throw usageError(`unknown action: ${action}`, `one of ${NAMES.join(", ")}`)
    return ACTIONS[action](context)
  },
} satisfies Command
