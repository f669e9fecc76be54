/**
 * The program from its sources, as `src/main.ts` starts it, in a process that notes each lock it takes and which ones it
 * has then. Called as `bun traced.ts <binary> <arguments>`; our own children come without the binary.
 */
import { appendFileSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { watchLocks } from "../../src/base/lock.ts"

export interface Taking {
  /** The file whose lock is taken. */
  readonly file: string
  /** Whether the process waits until it gets it. */
  readonly waits: boolean
  /** Files whose locks it has. */
  readonly held: readonly string[]
}

const fileOf = (fd: number | string): string =>
  readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, "")

/** Files of which one of our descriptors has the lock, as proc(5) tells. */
function heldNow(): string[] {
  return readdirSync("/proc/self/fdinfo").flatMap((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").includes("FLOCK") ? [fileOf(fd)] : []
    } catch {
      // The descriptor of the folder that we are listing.
      return []
    }
  })
}

const notes = process.env["CTXBRIDGE_TEST_LOCKS"]!

watchLocks((fd, waits) => {
  const taking: Taking = { file: fileOf(fd), waits, held: heldNow() }
  appendFileSync(notes, `${JSON.stringify(taking)}\n`)
})

const argv = process.argv.slice(2).filter((word, n) => n > 0 || !word.endsWith("/ctxbridge"))
const [first, second] = argv
if (first === "hook") await (await import("../../src/hook/run.ts")).runHook(second)
else if (first === "__job") await (await import("../../src/job/run-job.ts")).runJob()
else if (first === "__capture") (await import("../../src/job/capture-ahead.ts")).runCapture()
else await (await import("../../src/cli/router.ts")).runCli(argv)
