/** Who asks the job to stop has it to himself, or is told that it is at work. */
import { expect, test } from "bun:test"
import { closeSync, existsSync } from "node:fs"
import { join } from "node:path"
import { holdLockFile } from "../../../src/base/lock.ts"
import { isAskedToStop, jobLock, withoutJob } from "../../../src/job/stop-job.ts"
import { tempFolder } from "../../support/temp.ts"

test("the job is asked while somebody works without it, and not before or after", () => {
  using folder = tempFolder()
  expect(isAskedToStop(folder.path)).toBe(false)
  const seen = withoutJob(folder.path, 0, () => [
    isAskedToStop(folder.path),
    holdLockFile(jobLock(folder.path), 0),
  ])
  expect(seen).toEqual([true, undefined])
  expect(isAskedToStop(folder.path)).toBe(false)
})

test("a job that does not stop in time is named", () => {
  using folder = tempFolder()
  const job = holdLockFile(jobLock(folder.path), 0)!
  const never = (): never => {
    throw new Error("worked beside the job")
  }
  expect(() => withoutJob(folder.path, 20, never)).toThrow(
    expect.objectContaining({ code: "busy", message: "the background job is running" }),
  )
  closeSync(job)
  expect(withoutJob(folder.path, 0, () => "done")).toBe("done")
})

test("without a state folder no job has ever run, and none is made", () => {
  using folder = tempFolder()
  const none = join(folder.path, "none")
  expect(withoutJob(none, 0, () => "done")).toBe("done")
  expect(existsSync(none)).toBe(false)
})
