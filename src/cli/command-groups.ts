/** The commands as people look for them: what each is good for. `ctxbridge --help` follows this order. */

interface Group {
  readonly title: string
  /** Explained in a line each. */
  readonly commands: readonly string[]
  /** Only named, because help has to fit a small terminal. */
  readonly also?: readonly string[]
}

export const GROUPS: readonly Group[] = [
  { title: "Find", commands: ["search", "why", "blame"], also: ["pick", "how", "fix", "files", "undo"] },
  {
    title: "Read",
    commands: ["sessions", "show", "open", "resume", "receipts", "stats"],
    also: ["export", "handoff", "tag"],
  },
  { title: "Keep", commands: ["install", "import", "status"], also: ["doctor"] },
  {
    title: "Maintain",
    commands: [],
    also: [
      "config",
      "update",
      "uninstall",
      "verify",
      "rebuild",
      "resurrect",
      "repair",
      "project",
      "sync",
      "share",
      "server",
      "redact",
      "notes",
      "forget",
      "model",
      "optimize",
      "summarize",
      "preview",
      "prune",
      "proxy",
      "bench",
      "demo",
    ],
  },
]

/** Called by programs rather than people: Claude Code, a shell, a package. Only `ctxbridge help --all` lists them. */
export const PLUMBING: readonly string[] = ["hook", "statusline", "mcp", "init", "completions", "man"]

/** What other programs call the same, a plural, and what is an option of another one; that option follows its name. */
export const ALIASES: Readonly<Record<string, string>> = {
  ls: "sessions",
  grep: "search",
  cat: "show",
  view: "open",
  log: "sessions",
  shares: "share",
  purge: "forget",
  compact: "optimize --frames",
  timeline: "show --around 3",
  pin: "tag --pin",
}
