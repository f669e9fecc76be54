/** The source of an earlier commit, beside this one's packages: what an older program does at a target is tried with it. */
import { existsSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import type { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"

const ROOT = join(import.meta.dir, "../..")

/** An older program's part for PostgreSQL. */
export interface OlderProgram {
  readonly open: typeof openPostgresTarget
  readonly script: string
}

/** @returns its folder of targets; undefined where the history does not have it */
export function olderSource(commit: string, folder: string): string | undefined {
  const git = Bun.which("git")
  if (git === null || !existsSync(join(ROOT, ".git"))) return undefined
  const archive = Bun.spawnSync([git, "-C", ROOT, "archive", commit, "src", "package.json", "tsconfig.json"])
  if (archive.exitCode !== 0) return undefined
  const { exitCode } = Bun.spawnSync(["tar", "-xf", "-", "-C", folder], { stdin: archive.stdout })
  if (exitCode !== 0) return undefined
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"))
  return join(folder, "src/sync/targets")
}

export async function olderProgram(source: string): Promise<OlderProgram> {
  const target = (await import(join(source, "postgres-target.ts"))) as {
    openPostgresTarget: OlderProgram["open"]
  }
  const made = (await import(join(source, "postgres-migrations.ts"))) as { ADMINISTRATOR_SCRIPT: string }
  return { open: target.openPostgresTarget, script: made.ADMINISTRATOR_SCRIPT }
}
