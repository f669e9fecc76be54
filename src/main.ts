/**
 * Two programs in one file: hooks, which must be fast, and commands. Nothing is imported before we know which is
 * wanted, and nothing is exported: a chunk that imports the entry would pull everything in.
 */
const HOOKS = ["session-start", "user-prompt-submit", "pre-compact", "stop", "subagent-stop", "session-end"]

function main(argv: readonly string[]): Promise<void> {
  const [first, second] = argv
  if (first === "hook" && second === "pre-tool-use")
    return import("../dist/action/before-action.js").then((hook) => hook.runBeforeAction())
  if (first === "hook" && second !== "--help" && second !== "-h")
    return import("../dist/hook/run.js").then((hook) => hook.runHook(second, argv[2]))
  // The design documents omit `hook`.
  if (first !== undefined && HOOKS.includes(first))
    return import("../dist/hook/run.js").then((hook) => hook.runHook(first))
  if (first === "statusline" && (second === undefined || second === "--chain"))
    return import("./hook/run-status-line.ts").then((hot) => hot.runStatusLine(argv[2]))
  if (first === "__job") return import("./job/run-job.ts").then((job) => job.runJob())
  if (first === "__capture") return import("./job/capture-ahead.ts").then((child) => child.runCapture())
  if (first === "__compact")
    return import("./prune/plugin/run-compaction.ts").then((plugin) => plugin.runCompaction())
  if (first === "__prune")
    return import("./prune/patch/answer-patch.ts").then((child) => child.runPruneAnswer())
  if (first === "__vectors")
    return import("./find/query-vectors.ts").then((child) => child.runVectors(argv.slice(1)))
  if (first === "__complete")
    return import("./cli/completions/run-complete.ts").then((shell) => shell.runComplete(argv.slice(1)))
  if (first === "search" || first === "grep")
    return import("../dist/search/run-search.js").then((cli) => cli.runSearch(argv))
  if (first === "mcp") return import("../dist/mcp/run-server.js").then((cli) => cli.runServer(argv))
  return import("./cli/router.ts").then((cli) => cli.runCli(argv))
}

void main(process.argv.slice(2))
