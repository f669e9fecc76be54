/**
 * Two programs in one file: hooks, which must be fast, and commands. Nothing is imported before we know which one is
 * wanted, and nothing is exported, because a chunk that imports the entry would load everything.
 */
const HOOKS = ["session-start", "user-prompt-submit", "pre-compact", "stop", "subagent-stop", "session-end"]

function main(argv: readonly string[]): Promise<void> {
  const [first, second] = argv
  if (first === "hook") return import("../dist/hook/run.js").then((hook) => hook.runHook(second))
  // The events alone, without `hook`, as the design documents spell them.
  if (first !== undefined && HOOKS.includes(first))
    return import("../dist/hook/run.js").then((hook) => hook.runHook(first))
  if (first === "statusline" && (second === undefined || second === "--chain"))
    return import("./hook/statusline.ts").then((hot) => hot.runStatusLine(argv[2]))
  if (first === "__job") return import("./job/run.ts").then((job) => job.runJob())
  if (first === "search") return import("../dist/search/run-search.js").then((cli) => cli.runSearch(argv))
  return import("./cli/router.ts").then((cli) => cli.runCli(argv))
}

void main(process.argv.slice(2))
