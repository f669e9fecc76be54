// Written by `ctxbridge prune plugin`, and taken away by `ctxbridge prune plugin --revert`.
//
// Runs within Claude Code, where nothing of Node is there, and `$` may only be used as `$.noun.verb(…)`. Whatever fails
// goes on to Claude Code's own compaction. A message that is passed back with its handle stays as it is.
const BINARY = "CTXBRIDGE"
/** ms. Usually the answer takes a tenth of a second. */
const DEADLINE = 5000
/** Messages of which it is told what tools did. */
const LATEST = 60

const told = ({ role, text, toolUses, toolResults }, n, all) => ({
  role,
  text: (text ?? "").slice(0, 1000),
  isResult: (toolResults ?? []).length > 0,
  calls: n < all.length - LATEST ? [] : (toolUses ?? []).map(called),
})

const called = ({ tool, input, text }) => ({ tool, input, output: (text ?? "").slice(0, 5000) })

export const register = (on) => {
  on("session.compact", async ($, e, next) => {
    const { trigger, instructions, messages } = e
    if (trigger !== "manual" && trigger !== "auto") return next(e)
    const session = await $.session.id()
    const { transcriptPath } = await $.session.info()
    const question = { session, transcriptPath, trigger, instructions, messages: messages.map(told) }
    const stdin = JSON.stringify(question)
    const { stdout } = await $.process.run([BINARY, "__compact"], { stdin, timeoutMs: DEADLINE })
    const { context, prompt } = JSON.parse(stdout)
    const kept = prompt === undefined ? [] : [messages[prompt]]
    return { messages: [{ role: "user", text: context, toolUses: [] }, ...kept] }
  }).catch((_, e, next) => next(e))
}
