/*
 * Inserted by `ctxbridge prune patch`, and taken out by `ctxbridge prune patch --revert`. At a new prompt it asks
 * ctxbridge what of the conversation the archive holds and the request can do without, and leaves that out of what is
 * sent, until ctxbridge says otherwise. What is stored stays as it is, and so do the client's own messages. Whenever
 * ctxbridge does not answer, nothing more is left out than before. CLAUDE_TEXT_PRUNE_DISABLE=1 switches it off.
 */
async function _aggressiveTextPrune(messages, context) {
  if (process.env.CLAUDE_TEXT_PRUNE_DISABLE === "1") return messages
  // Functions are there before everything else of their module.
  _aggressiveTextPrune.state ??= {}
  const { state } = _aggressiveTextPrune
  const blocksOf = ({ content }) =>
    typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : []
  const asked = (question) =>
    import("node:child_process").then(
      ({ spawn }) =>
        new Promise((resolve, reject) => {
          const noBun = { BUN_OPTIONS: "", BUN_BE_BUN: "", BUN_INSPECT: "", BUN_INSPECT_CONNECT_TO: "" }
          const child = spawn("ctxbridge:binary", ["__prune"], {
            cwd: "/",
            env: { ...process.env, ...noBun },
            stdio: ["pipe", "pipe", "ignore"],
          })
          const end = (settle, value) => {
            clearTimeout(late)
            settle(value)
          }
          const late = setTimeout(() => end(reject, child.kill("SIGKILL")), 2000)
          const chunks = []
          child.on("error", (error) => end(reject, error))
          child.on("close", (code) =>
            code === 0 ? end(resolve, Buffer.concat(chunks).toString()) : end(reject, code),
          )
          child.stdout.on("data", (chunk) => chunks.push(chunk))
          child.stdin.on("error", () => {})
          child.stdin.end(question)
        }),
    )
  // What ctxbridge has no need of is not sent to it: what tools did, images.
  const shown = ({ type, message }) => ({
    role: type,
    content: blocksOf(message).map((block) =>
      ["text", "thinking", "redacted_thinking"].includes(block.type) ? block : { type: block.type },
    ),
  })
  const consider = async (sent, session) => {
    const cut = _ctxbridgeCut(sent)
    const from = sent.findIndex(({ uuid }) => uuid === cut?.whole)
    const question = JSON.stringify({ session, from, messages: sent.map(shown) })
    if (question.length < state.size) state.next = 0
    state.size = question.length
    if (question.length < state.next) return
    const told = JSON.parse(await asked(question))
    if (told.cut) {
      const edits = new Map(told.edits.map((edit) => [sent[edit.message].uuid, edit.changes]))
      const { cuts } = _ctxbridgeCut
      cuts.push({ prompt: sent[told.cut.prompt].uuid, whole: sent[told.cut.whole].uuid, edits })
      if (cuts.length > 50) cuts.shift()
    }
    state.next = question.length + told.wait
  }
  try {
    const isSent = (message) =>
      (message.type === "user" || message.type === "assistant") &&
      !message.isMeta &&
      !message.isCompactSummary &&
      !message.isVisibleInTranscriptOnly &&
      !message.isApiErrorMessage &&
      !message.isVirtual
    const sent = messages.filter(isSent)
    const last = sent.at(-1)
    const isPrompt =
      last?.type === "user" && !blocksOf(last.message).some(({ type }) => type.endsWith("tool_result"))
    const session = ctxbridgeSession()
    if (state.session !== session) Object.assign(state, { session, considered: undefined, size: 0, next: 0 })
    const isSubagent = context.agentId !== undefined && context.agentId !== session
    // Also what summarises, in some versions.
    if (isPrompt && isSubagent) return _ctxbridgeUnbound(_ctxbridgeApplied(messages))
    if (isPrompt && last.uuid !== state.considered) {
      state.considered = last.uuid
      if (sent.some(({ type }) => type === "assistant")) await consider(sent, session)
    }
  } catch {
    // No answer, or one that cannot be understood.
  }
  return _ctxbridgeApplied(messages)
}

/* The cut that is in force in a conversation: the user went back if the prompt at which one was made is gone. */
function _ctxbridgeCut(messages) {
  _ctxbridgeCut.cuts ??= []
  return _ctxbridgeCut.cuts.findLast((cut) => messages.some((message) => message.uuid === cut.prompt))
}

/* Leaves out again what was left out before. */
function _ctxbridgeApplied(messages) {
  if (process.env.CLAUDE_TEXT_PRUNE_DISABLE === "1") return messages
  const edited = (message, changes) => {
    if (changes === undefined) return message
    const { content } = message.message
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content
    // If not, it was edited before, and was handed on.
    if (!changes.every(({ block, type }) => blocks[block]?.type === type)) return message
    const instead = new Map(changes.map((change) => [change.block, change.instead]))
    const left = blocks.map((block, n) => (instead.has(n) ? instead.get(n) : block)).filter(Boolean)
    if (left.length === 0) return undefined
    return {
      ...message,
      message: { ...message.message, content: typeof content === "string" ? left[0].text : left },
    }
  }
  try {
    const cut = _ctxbridgeCut(messages)
    if (cut === undefined) return messages
    return messages
      .map((message) => edited(message, cut.edits.get(message.uuid)))
      .filter((message) => message !== undefined)
  } catch {
    return messages
  }
}

/*
 * Before its first prompt, a session is one that was resumed, and may have been pruned: its thoughts then follow on a
 * text that is not known here, and a request that has them may be refused. What is asked on the side needs none.
 */
function _ctxbridgeUnbound(messages) {
  const { state } = _aggressiveTextPrune
  if (state?.considered !== undefined && state.session === ctxbridgeSession()) return messages
  return messages.flatMap((message) => {
    const { content } = message.message ?? {}
    if (message.type !== "assistant" || !Array.isArray(content)) return [message]
    const left = content.filter(({ type }) => type !== "thinking" && type !== "redacted_thinking")
    if (left.length === content.length) return [message]
    return left.length === 0 ? [] : [{ ...message, message: { ...message.message, content: left } }]
  })
}

/* What is to be summarised. */
function _ctxbridgeSummarised(messages) {
  if (process.env.CLAUDE_TEXT_PRUNE_DISABLE === "1") return messages
  try {
    return _ctxbridgeUnbound(_ctxbridgeApplied(messages))
  } catch {
    return messages
  }
}
