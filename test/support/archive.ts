/** The archive without processes: captures and indexes by direct function calls, which is fast. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { once } from "../../src/base/once.ts"
import { captureTranscript, type Taken } from "../../src/vault/capture.ts"
import { vaultFile } from "../../src/vault/layout.ts"
import { settlePending } from "../../src/vault/pending.ts"
import { type Database, databasePath } from "../../src/views/database.ts"
import { index } from "../../src/views/indexing.ts"
import { open } from "../../src/views/open.ts"
import { Transcript } from "./transcript.ts"

/** An empty database, as it is made; copied, since making its tables takes longer than most tests. */
const emptyArchive = once(() => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-empty-"))
  open(dataHome, "write", 0).close()
  const bytes = readFileSync(databasePath(dataHome))
  rmSync(dataHome, { recursive: true })
  return bytes
})

export class Archive {
  readonly root: string
  readonly dataHome: string
  readonly db: Database

  constructor() {
    this.root = mkdtempSync(join(tmpdir(), "ctxbridge-archive-"))
    this.dataHome = join(this.root, "archive")
    mkdirSync(this.dataHome, { mode: 0o700 })
    writeFileSync(databasePath(this.dataHome), emptyArchive(), { mode: 0o600 })
    this.db = open(this.dataHome, "write", 0)
  }

  session(id: string, options: { version?: string; cwd?: string; agent?: string } = {}): Transcript {
    const { version = "2.1.112", cwd = join(this.root, "project"), agent } = options
    const path = join(this.root, ".claude", "projects", "-project", `${id}.jsonl`)
    return new Transcript({ session: id, cwd, version, path, ...(agent === undefined ? {} : { agent }) })
  }

  /** Takes the new bytes into the vault, as a hook does at the end of a turn. */
  take(transcript: Pick<Transcript, "path">): Taken {
    const place = { dataHome: this.dataHome, home: this.root }
    const options = { now: Date.now(), deadline: Number.POSITIVE_INFINITY, lastLine: "whole" } as const
    return captureTranscript(place, transcript.path, options)
  }

  /** The same and then into the views, as a hook does that replies. */
  follow(transcript: Pick<Transcript, "path">): Taken {
    const taken = this.take(transcript)
    this.db.transaction(() => index(this.db, this.dataHome, taken, () => false, taken.fresh)).immediate()
    settlePending(this.dataHome, taken.copy)
    return taken
  }

  /** Absolute path of a copy. */
  file({ copy }: Taken): string {
    return vaultFile(this.dataHome, copy)
  }

  count(sql: string, ...values: string[]): number {
    return this.db.query<{ n: number }, string[]>(`SELECT count(*) AS n FROM ${sql}`).get(...values)!.n
  }

  [Symbol.dispose](): void {
    this.db.close()
    rmSync(this.root, { recursive: true, force: true })
  }
}
