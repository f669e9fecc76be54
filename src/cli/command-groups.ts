/** The commands as people look for them: what each is good for. `ctxbridge --help` follows this order. */

interface Group {
  readonly title: string
  /** Explained in a line each. */
  readonly commands: readonly string[]
  /** Only named, because help has to fit a small terminal. */
  readonly also?: readonly string[]
}

export const GROUPS: readonly Group[] = [
  { title: "Find", commands: ["search", "files", "how", "fix", "blame"] },
  { title: "Read", commands: ["sessions", "show", "timeline", "resume", "receipts", "export"] },
  { title: "Keep", commands: ["install", "import", "status", "doctor"] },
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
      "compact",
      "sync",
      "redact",
      "forget",
      "purge",
      "model",
      "optimize",
      "learn",
      "preview",
      "prune",
      "proxy",
      "bench",
      "demo",
    ],
  },
]

/** Called by programs rather than people: Claude Code, a shell, a package. Only `ctxbridge help --all` lists them. */
export const PLUMBING: readonly string[] = ["hook", "statusline", "mcp", "completions", "man"]

/** What other programs call the same. */
export const ALIASES: Readonly<Record<string, string>> = {
  ls: "sessions",
  grep: "search",
  cat: "show",
  log: "timeline",
}
