/** The table of commands. Each is loaded only when it is called. */
import type { Command } from "./command.ts"

export const COMMANDS: Readonly<Record<string, () => Promise<{ default: Command }>>> = Object.assign(
  // No prototype: `ctxbridge constructor` is an unknown command.
  Object.create(null) as Record<string, () => Promise<{ default: Command }>>,
  {
    install: () => import("./commands/install.ts"),
    uninstall: () => import("./commands/uninstall.ts"),
    status: () => import("./commands/status.ts"),
    statusline: () => import("./commands/statusline.ts"),
    sessions: () => import("./commands/sessions.ts"),
    search: () => import("./commands/search.ts"),
    timeline: () => import("./commands/timeline.ts"),
    files: () => import("./commands/files.ts"),
    how: () => import("./commands/how.ts"),
    fix: () => import("./commands/fix.ts"),
    blame: () => import("./commands/blame.ts"),
    show: () => import("./commands/show.ts"),
    preview: () => import("./commands/preview.ts"),
    receipts: () => import("./commands/receipts.ts"),
    mcp: () => import("./commands/mcp.ts"),
    export: () => import("./commands/export.ts"),
    resurrect: () => import("./commands/resurrect.ts"),
    verify: () => import("./commands/verify.ts"),
    doctor: () => import("./commands/doctor.ts"),
    rebuild: () => import("./commands/rebuild.ts"),
    compact: () => import("./commands/compact.ts"),
    redact: () => import("./commands/redact.ts"),
    import: () => import("./commands/import.ts"),
    model: () => import("./commands/model.ts"),
    forget: () => import("./commands/forget.ts"),
    purge: () => import("./commands/purge.ts"),
    config: () => import("./commands/config.ts"),
    demo: () => import("./commands/demo.ts"),
    bench: () => import("./commands/bench.ts"),
    completions: () => import("./commands/completions.ts"),
  },
)
