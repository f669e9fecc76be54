/**
 * What the job stands on: the data folder and the database that were there when it began. Whoever removes them wants
 * nothing of them back, so the job ends, and makes no folder on its way.
 */
import { databasePath } from "../archive/database.ts"
import type { Paths } from "../config/load.ts"
import { CtxError } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { beforeMaking } from "../util/fs.ts"
import { isAskedToStop, STOPPED } from "./stop-job.ts"

export class Ground {
  readonly #dataHome: string
  readonly #stateHome: string
  readonly #folder: string | undefined
  #database: string | undefined

  constructor({ dataHome, stateHome }: Pick<Paths, "dataHome" | "stateHome">) {
    this.#dataHome = dataHome
    this.#stateHome = stateHome
    this.#folder = fileAt(dataHome)
    // Between two looks there may be 300 ms of work that makes missing folders.
    beforeMaking(() => this.holdFolder())
  }

  /** Call whenever the database has been opened: others may replace it in between. */
  noteDatabase(): void {
    this.#database = fileAt(databasePath(this.#dataHome))
  }

  get isGone(): boolean {
    return this.#folder === undefined || fileAt(this.#dataHome) !== this.#folder
  }

  /** @throws CtxError `stopped` if the data folder is gone */
  holdFolder(): void {
    if (this.isGone) throw new CtxError(STOPPED, "the data folder has been removed")
  }

  /** Whether the job is to end. */
  get isOver(): boolean {
    return (
      this.isGone || fileAt(databasePath(this.#dataHome)) !== this.#database || isAskedToStop(this.#stateHome)
    )
  }

  /** @throws CtxError `stopped` if the job is to end */
  goOn(): void {
    if (this.isOver) throw new CtxError(STOPPED, "somebody has asked the job to end, or removed its files")
  }
}

/** Tells files apart that have had the same path. */
function fileAt(path: string): string | undefined {
  const stats = statsOf(path)
  return stats && `${stats.dev}:${stats.ino}`
}
