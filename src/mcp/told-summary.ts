/** What a session was about, in the server's answers: a model's words, or words of the session, and which. Pure. */
import { type SessionSummary, summaryParts, summarySource } from "../read/session-summary.ts"
import { plain, strange } from "./quoting.ts"

/** UTF-16 units. */
const PART = 240
const SOURCE = 160
const MOST = 8

/** Empty if there is nothing to tell beyond what was asked first, which the turns tell themselves. */
export function summaryLines(summary: SessionSummary): string[] {
  const parts = summaryParts(summary).slice(0, MOST)
  if (parts.every(({ label }) => label === "asked")) return []
  const source = plain(summarySource(summary), SOURCE)
  return [
    `In short, ${source}:`,
    ...parts.map(({ label, text, handle }) => {
      const from = handle === undefined ? "" : ` (${handle})`
      // Anyone can have named a file.
      const quoted = label === "changed" ? strange(text, PART) : plain(text, PART)
      return `  ${label}: ${JSON.stringify(quoted)}${from}`
    }),
  ]
}
