/** The table of commands. Each is loaded only when called. */
import type { Command } from "./command.ts"

export const COMMANDS: Readonly<Record<string, () => Promise<{ default: Command }>>> = Object.assign(
  // Without a prototype, so that `ctxbridge constructor` is an unknown command.
  Object.create(null) as Record<string, () => Promise<{ default: Command }>>,
  {
    install: () => import("./commands/install.ts"),
    uninstall: () => import("./commands/uninstall.ts"),
    status: () => import("./commands/status.ts"),
    statusline: () => import("./commands/statusline.ts"),
    sessions: () => import("./commands/sessions.ts"),
    search: () => import("./commands/search.ts"),
    pick: () => import("./commands/pick.ts"),
    files: () => import("./commands/files.ts"),
    how: () => import("./commands/how.ts"),
    fix: () => import("./commands/fix.ts"),
    blame: () => import("./commands/blame.ts"),
    undo: () => import("./commands/undo.ts"),
    stats: () => import("./commands/stats.ts"),
    why: () => import("./commands/why.ts"),
    show: () => import("./commands/show.ts"),
    tag: () => import("./commands/tag.ts"),
    open: () => import("./commands/open.ts"),
    preview: () => import("./commands/preview.ts"),
    receipts: () => import("./commands/receipts.ts"),
    resume: () => import("./commands/resume.ts"),
    handoff: () => import("./commands/handoff.ts"),
    mcp: () => import("./commands/mcp.ts"),
    export: () => import("./commands/export.ts"),
    resurrect: () => import("./commands/resurrect.ts"),
    repair: () => import("./commands/repair.ts"),
    verify: () => import("./commands/verify.ts"),
    doctor: () => import("./commands/doctor.ts"),
    rebuild: () => import("./commands/rebuild.ts"),
    redact: () => import("./commands/redact.ts"),
    import: () => import("./commands/import.ts"),
    project: () => import("./commands/project.ts"),
    sync: () => import("./commands/sync.ts"),
    share: () => import("./commands/share.ts"),
    server: () => import("./commands/server.ts"),
    optimize: () => import("./commands/optimize.ts"),
    model: () => import("./commands/model.ts"),
    proxy: () => import("./commands/proxy.ts"),
    prune: () => import("./commands/prune.ts"),
    summarize: () => import("./commands/summarize.ts"),
    notes: () => import("./commands/notes.ts"),
    forget: () => import("./commands/forget.ts"),
    update: () => import("./commands/update.ts"),
    config: () => import("./commands/config.ts"),
    demo: () => import("./commands/demo.ts"),
    bench: () => import("./commands/bench.ts"),
    init: () => import("./commands/init.ts"),
    completions: () => import("./commands/completions.ts"),
    man: () => import("./commands/man.ts"),
    hook: () => import("./commands/hook.ts"),
  },
)

/**
 * Some commands, in this order. One is loaded after the other: of those that Bun loads at once from sources, one can run
 * before what it imports has (1.4.5).
 */
export async function loadCommands(names: readonly string[]): Promise<Command[]> {
  const loaded: Command[] = []
  for (const name of names) loaded.push((await COMMANDS[name]!()).default)
  return loaded
}

/* The commands as people look for them: what each is good for. `ctxbridge --help` follows this order. */

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
