/** Requests to the background job, while others change them. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { takeRequests } from "../../../src/job/requests.ts"

setDefaultTimeout(60_000)

const REQUESTS = join(import.meta.dir, "../../../src/job/requests.ts")

test("a request that is taken away while the job takes it does not end the job", async () => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-requests-"))
  const script = `
    import { dropFromRequests, leaveRequest } from ${JSON.stringify(REQUESTS)}
    const dataHome = ${JSON.stringify(dataHome)}
    process.stdout.write("ready")
    for (let n = 0; ; n++) {
      leaveRequest(dataHome, { transcripts: ["/gone.jsonl", "/stays.jsonl"], sweep: [], settle: false })
      dropFromRequests(dataHome, (path) => path === "/gone.jsonl")
    }
  `
  const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "ignore" })
  try {
    await other.stdout.getReader().read()
    let taken = 0
    for (let n = 0; n < 20_000; n++) {
      for (const { request } of takeRequests(dataHome)) {
        taken++
        expect(request.transcripts).toContain("/stays.jsonl")
      }
    }
    expect(taken).toBeGreaterThan(0)
  } finally {
    other.kill()
    await other.exited
    rmSync(dataHome, { recursive: true })
  }
})
