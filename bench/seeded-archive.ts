/** Archives of made-up sessions: the same ones for the same size. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import { mergeFrames } from "../src/vault/merge-frames.ts"
import { seededTranscript } from "./seeded-transcript.ts"

/** Messages per session, and how many sessions' transcripts are on disk at a time. */
const SESSION = 500
const AT_ONCE = 100

/**
 * Makes an archive with this many messages in `dir`, unless it exists.
 *
 * @param kind part of the folder's name, for one to which something is added
 * @returns the home folder that it is in
 */
export function seededArchive(dir: string, messages: number, kind = "messages"): string {
  const home = join(dir, `${kind}-${messages}`)
  const dataHome = join(home, "archive")
  const done = join(home, "done")
  if (existsSync(done)) return home
  rmSync(home, { recursive: true, force: true })
  const folder = join(home, ".claude", "projects", "bench")
  for (let from = 0; from < messages / SESSION; from += AT_ONCE) {
    mkdirSync(folder, { recursive: true })
    const paths: string[] = []
    for (let n = from; n < Math.min(messages / SESSION, from + AT_ONCE); n++) {
      const { id, lines } = seededTranscript(n, { turns: Math.ceil(SESSION / 12), calls: 5 })
      const path = join(folder, `${id}.jsonl`)
      writeFileSync(path, `${lines.slice(0, SESSION).join("\n")}\n`)
      paths.push(path)
    }
    const report = importTranscripts(
      { dataHome, home, stateHome: join(home, "state"), secrets: FILTERED, exclude: [] },
      paths,
      { dryRun: false, check: false },
    )
    if (!report.ok) throw new Error(JSON.stringify(report.files.find(({ error }) => error !== undefined)))
    rmSync(folder, { recursive: true })
    console.error(`${from + paths.length} of ${messages / SESSION} sessions`)
  }
  mergeFrames(dataHome, { dryRun: false })
  writeFileSync(done, "")
  return home
}

/**
 * The same with all vectors of the model in `model`, a folder with its two files. Making them takes some minutes for
 * 100,000 messages.
 */
export function embeddedArchive(exe: string, dir: string, messages: number, model: string): string {
  const home = seededArchive(dir, messages, "embedded")
  const done = join(home, "embedded")
  if (existsSync(done)) return home
  const env = { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), BUN_OPTIONS: "", BUN_BE_BUN: "" }
  for (const command of [["model", "install", "--from", model, "--yes"], ["optimize"]]) {
    const { exitCode, stderr } = Bun.spawnSync([exe, ...command], { env, stdout: "ignore", stderr: "pipe" })
    if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`)
  }
  writeFileSync(done, "")
  return home
}
