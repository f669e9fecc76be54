/** The events that `ctxbridge import --json` writes. */
export type Event = Readonly<Record<string, unknown>> & { readonly event: string }

export const eventsIn = (stdout: string): Event[] =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event)

/** The last event, which holds the whole result. Throws unless it is `done`. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
export function doneIn(stdout: string): any {
  const last = eventsIn(stdout).at(-1)
  if (last?.event !== "done") throw new Error(`the last event is no "done": ${stdout.slice(-200)}`)
  return last
}
