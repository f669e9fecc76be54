/** Whether a changed bundle is a program that starts, tried beside the real one without touching it. */
import { rmSync, writeFileSync } from "node:fs"
import { versionIn } from "../../claude/install/clients.ts"
import { isolatedEnvironment } from "../../config/load.ts"
import { unfinishedFile } from "../../util/edited-file.ts"
import { tryTo } from "../../util/files.ts"
import { dirname } from "../../util/path.ts"
import { temporaryFolder } from "../../util/temporary.ts"
import { type PatchedText, SUMMARISED, withInsertions } from "./patched-text.ts"

/** ms that it may take to say its version. */
const PATIENCE = 30_000

const TOLD = "ctxbridge:"

export interface Tried {
  /** What it says. */
  readonly version: string
}

/**
 * @param original the bundle before
 * @param runner what runs it
 */
export function tryBundle(
  file: string,
  original: string,
  { text, place, insertions }: PatchedText,
  runner: "node" | "bun",
): Tried | { readonly why: string } {
  if (tryTo(() => new Bun.Transpiler({ loader: "js" }).scan(text)) === undefined)
    return { why: "the result is no valid JavaScript" }
  const program = Bun.which(runner) ?? Bun.which("node") ?? Bun.which("bun")
  if (program === null) return { why: `there is no ${runner} to try the result with` }
  using home = temporaryFolder("patch")
  const run = (tried: string) => runBeside(file, tried, program, home.path)
  const { stdout, exitCode } = run(text)
  const version = exitCode === 0 ? versionIn(stdout) : undefined
  if (version === undefined) return { why: "the result does not say its version" }
  // Where our function is, the name must mean that very function; where a compaction is, ours must be within reach.
  const { session, before, summary } = place
  const told = (expression: string): string =>
    `process.stderr.write(${JSON.stringify(TOLD)}+${expression}+"\\n");`
  const proofs = [
    { at: before, text: told(`${session.name}.toString()`) },
    { at: summary, text: told(`typeof ${SUMMARISED}`) },
  ]
  const proved = withInsertions(
    original,
    [...proofs, ...insertions].sort((a, b) => a.at - b.at),
  )
  const lines = run(proved).stderr.split("\n")
  if (!lines.includes(TOLD + session.source))
    return { why: "the function that names the session is not within reach" }
  if (!lines.includes(`${TOLD}function`)) return { why: "what a compaction sends is not within reach" }
  return { version }
}

function runBeside(file: string, text: string, program: string, home: string) {
  // A program looks for its own files beside itself.
  const probe = unfinishedFile(file, process.pid, "mjs")
  try {
    writeFileSync(probe, text, { mode: 0o600, flag: "wx" })
    const { stdout, stderr, exitCode } = Bun.spawnSync([program, probe, "--version"], {
      cwd: dirname(file),
      env: isolatedEnvironment(home),
      stdin: "ignore",
      timeout: PATIENCE,
    })
    return { stdout: stdout.toString(), stderr: stderr.toString(), exitCode }
  } finally {
    rmSync(probe, { force: true })
  }
}
