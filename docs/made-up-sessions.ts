/** Made-up sessions of somebody who works on a few projects, for pictures. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { FakeTranscript, type Step } from "../src/claude/fake/transcript.ts"

const HOUR = 3_600_000

const run = (command: string, output: string, isError = false): Step => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})
const edit = (path: string, before: string, after: string): Step => ({
  tool: "Edit",
  input: { file_path: path, old_string: before, new_string: after },
  output: "ok",
})

/** Project, hours ago, and what was said and done. */
const SESSIONS: readonly (readonly [project: string, ago: number, write: (to: FakeTranscript) => void])[] = [
  [
    "linkbox",
    3,
    (to) =>
      to
        .turn(
          "Add rate limiting to the login endpoint: five tries a minute.",
          [
            edit("src/server.ts", "router.post('/login', login)", "router.post('/login', limited(login))"),
            run(
              "npm test -- rate-limit",
              "Exit code 1\nAssertionError: expected 5 requests to pass, got 6",
              true,
            ),
          ],
          "The limiter is wired in; the sixth request still passes.",
        )
        .turn(
          "Why does the sixth one pass?",
          [edit("src/rate-limit.ts", "bucket.tokens < 0", "bucket.tokens < 1")],
          "A bucket with no token left still let one request through. The rate limit test passes now.",
        ),
  ],
  [
    "linkbox",
    30,
    (to) =>
      to.turn(
        "The short links should expire after 90 days, but never those of paying customers.",
        [run("npx tsc --noEmit", "")],
        "Expiry is a column; a nightly job removes what is past it, at a limited rate.",
      ),
  ],
  [
    "shipping-api",
    52,
    (to) =>
      to.turn(
        "The carrier answers 429 when we ask for too many labels.",
        [
          run("curl -si https://carrier.test/labels", "HTTP/1.1 429 Too Many Requests\nretry-after: 12"),
          edit("lib/carrier.ts", "await fetch(url)", "await withRetry(() => fetch(url))"),
        ],
        "Their rate limit is 40 labels a minute. Requests wait for retry-after now.",
      ),
  ],
  [
    "infra",
    120,
    (to) =>
      to.turn(
        "Put nginx in front and limit each address there as well.",
        [
          edit(
            "nginx.conf",
            "server {",
            "limit_req_zone $binary_remote_addr zone=login:10m rate=5r/m;\nserver {",
          ),
        ],
        "limit_req keeps the rate at five a minute for each address.",
      ),
  ],
]

/** Writes them where Claude Code would have. */
export function writeSessions(home: string): void {
  for (const [n, [project, ago, write]] of SESSIONS.entries()) {
    const cwd = join(home, project)
    mkdirSync(cwd, { recursive: true })
    const session = `5e55101${n}-0000-4000-8000-000000000001`
    const transcript = new FakeTranscript({
      session,
      cwd,
      version: "2.1.112",
      start: Date.now() - ago * HOUR,
    })
    write(transcript)
    const folder = join(home, ".claude/projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${session}.jsonl`), transcript.take())
  }
}
