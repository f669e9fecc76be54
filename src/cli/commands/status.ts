/** `ctxbridge status`: how the archive stands. Every number is counted when it is asked for. */
import { existsSync } from "node:fs"
import { spoolStatus } from "../../archive/spool.ts"
import { readStatus } from "../../archive/status.ts"
import { hookStatus } from "../../host/hook-status.ts"
import { unfinished } from "../../job/forget.ts"
import { importUnderWay } from "../../job/history.ts"
import { askForRebuild } from "../../job/spawn.ts"
import { lastError } from "../../util/log.ts"
import { tombstoneCount } from "../../vault/tombstones.ts"
import type { Command } from "../command.ts"
import { renderStatus } from "../render-status.ts"
import { createStyle } from "../style.ts"

export default {
  meta: { name: "status", description: "Show how the archive stands: sizes, sessions, hooks, backlog" },
  run({ env, out }) {
    const { claudeDir: configDir, home, cwd, dataHome, exePath } = env
    const archive = readStatus(dataHome)
    if (archive.database.lost) askForRebuild(dataHome)
    const status = {
      dataHome,
      exists: existsSync(dataHome),
      ...archive,
      spool: spoolStatus(env),
      forgotten: { sessions: tombstoneCount(dataHome), unfinished: unfinished(dataHome).length },
      import: importUnderWay(env) ?? null,
      hooks: hookStatus({ configDir, home, cwd, dataHome }, exePath),
      lastError: lastError(env.stateHome) ?? null,
    }
    const screen = { columns: out.columns, style: createStyle(out.color), now: Date.now() }
    for (const line of renderStatus(status, screen)) out.print(line)
    out.json(status)
  },
} satisfies Command
