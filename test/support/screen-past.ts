/** A fixed past for tests of what terminals show: two sessions with Markdown, changes, failures and long output. */
import type { Machine } from "./machine.ts"
import type { Transcript } from "./transcript.ts"

const ANSWER = `The retry loop is in. **Two things** changed:

1. \`src/client.ts\` waits between attempts, twice as long each time, but never longer than the server asks for
2. errors that are *not* worth a retry are thrown at once

| status | retried |
| ------ | ------- |
| 429    | yes     |
| 404    | no      |

\`\`\`ts
await retry(() => fetch(url), 3)
\`\`\`

See [the RFC](https://www.rfc-editor.org/rfc/rfc9110#name-retry-after).`

/** Long ago, so that dates have their year. */
const START = Date.parse("2024-11-12T14:05:00Z")

/** @returns the session with the change; it is archived */
export async function screenPast(machine: Machine): Promise<Transcript> {
  const { cwd } = machine
  const session = machine.session({ id: "5c4ee4a1-0000-4000-8000-000000000001", start: START })
  session.line({ type: "ai-title", aiTitle: "Retries for the HTTP client", sessionId: session.session })
  session.turn(
    "Add retries to the client. Never touch the generated files; use fetch, not axios, and keep the public signature as it is.",
    [
      {
        tool: "Edit",
        input: {
          file_path: `${cwd}/src/client.ts`,
          old_string: "export async function get(url) {\n  return fetch(url)\n}",
          new_string: "export async function get(url) {\n  return await retry(() => fetch(url), 3)\n}",
        },
        output: "ok",
      },
      {
        tool: "Bash",
        input: { command: "npm test -- retry", description: "Run the tests" },
        output: `Exit code 1\nTypeError: retry is not a function\n${Array.from({ length: 30 }, (_, n) => `    at frame ${n} (node:internal/modules/run_main:${n})`).join("\n")}`,
        isError: true,
      },
      { tool: "Bash", input: { command: "npm test -- retry" }, output: "ok 12 語言 tests passed 🛡️" },
    ],
    ANSWER,
  )
  session.turn("Does the retry honour Retry-After?", [], "Yes: the header wins over our own delay.")
  const other = machine.session({ id: "5c4ee4a2-0000-4000-8000-000000000002", start: START + 7_200_000 })
  other.turn("Why does the build of the docs fail?", [], "A link in the index named a page that is gone.")
  for (const one of [session.flush(), other.flush()]) await machine.hook("stop", one)
  return session
}
