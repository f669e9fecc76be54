// ctxbridge: what `ctxbridge install` has put here archives opencode's sessions, and gives back what a compaction lost.
// `ctxbridge uninstall` removes it. Whatever fails here, opencode goes on; without the program below, it does nothing.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const PROGRAM = "@PROGRAM@"
const CLEARED = { BUN_OPTIONS: "", BUN_BE_BUN: "", BUN_INSPECT: "", BUN_INSPECT_CONNECT_TO: "" }
const DATA = process.env.XDG_DATA_HOME || join(process.env.HOME || homedir(), ".local", "share")
/** How what is said to the model begins that names a session. */
const NAMER = /^\s*You are a title generator/
/** Milliseconds after which a hook hangs: it is killed, and opencode goes on. */
const SHORT = 5000
const LONG = 8000
/** Milliseconds after which a compaction that was announced has failed. */
const LASTS = 600000

/** What a hook prints, when it has ended; empty if it fails, or has to be killed. */
function call(event, fields, limit) {
  const { promise, resolve } = Promise.withResolvers()
  try {
    const child = spawn(PROGRAM, ["hook", event, "opencode"], {
      // Nobody may be there any more when a session has stopped.
      stdio: ["pipe", event === "stop" ? "ignore" : "pipe", "ignore"],
      env: { ...process.env, ...CLEARED },
      detached: process.platform !== "win32",
      windowsHide: true,
    })
    const timer = setTimeout(() => {
      kill(child)
      resolve("")
    }, limit)
    timer.unref()
    let text = ""
    child.on("error", () => resolve(""))
    child.stdout?.setEncoding("utf8")
    child.stdout?.on("data", (piece) => {
      text += piece
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? text.trim() : "")
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(fields))
    child.unref()
  } catch {
    resolve("")
  }
  return promise
}

/** With what it has started, but for what it has detached. */
function kill(child) {
  try {
    if (process.platform === "win32") child.kill("SIGKILL")
    else process.kill(-child.pid, "SIGKILL")
  } catch {}
}

const within = (promise, wait) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, wait))]).catch(() => undefined)

export const Ctxbridge = async ({ client, directory }) => {
  if (!existsSync(PROGRAM)) return {}
  /** By session: whether another one has started it. */
  const children = new Map()
  /** Where the last session was left, by session: told with each request, as nothing of it is kept. */
  const pointers = new Map()
  /** Ends of sessions' answers that are being told, by session: what comes next is told after them. */
  const stopping = new Map()
  /** Compactions under way, by session: when they were announced. */
  const compacting = new Map()

  const isChild = async (id) => {
    if (!children.has(id)) {
      const found = await within(client.session.get({ path: { id } }), 1000)
      if (found?.data === undefined) return false
      if (children.size > 1000) children.clear()
      children.set(id, Boolean(found.data.parentID))
    }
    return children.get(id)
  }

  const fieldsOf = async (id, more) => ({
    session_id: id,
    transcript_path: join(DATA, "opencode", "session~", `${id}.jsonl`),
    cwd: directory,
    ...((await isChild(id)) ? { agent_id: id } : {}),
    ...more,
  })

  /** @returns once the hook has begun: what it prints */
  const begin = async (event, id, limit, more = {}) => {
    await stopping.get(id)
    const fields = await fieldsOf(id, more)
    return { said: call(event, fields, limit) }
  }

  const hook = async (...about) => (await begin(...about)).said

  const isNew = async (id) => {
    const found = await within(client.session.messages({ path: { id }, query: { limit: 1 } }), 1000)
    return found?.data?.length === 0
  }

  /** A failure of ours is none of opencode's. */
  const safe = (work) => async (input, output) => {
    try {
      if (existsSync(PROGRAM)) await work(input, output)
    } catch {}
  }

  return {
    event: safe(async ({ event }) => {
      const { sessionID, info } = event.properties ?? {}
      if (info?.id?.startsWith("ses_")) children.set(info.id, Boolean(info.parentID))
      if (event.type === "session.error" && sessionID) compacting.delete(sessionID)
      if (event.type !== "session.idle") return
      compacting.delete(sessionID)
      const begun = begin("stop", sessionID, SHORT)
      const ended = begun
        .then(({ said }) => said)
        .catch(() => {})
        .then(() => {
          if (stopping.get(sessionID) === ended) stopping.delete(sessionID)
        })
      stopping.set(sessionID, ended)
      await begun
    }),

    "chat.message": safe(async ({ sessionID }, { message, parts }) => {
      // Typed while the session is compacted: it waits, and what it waits for is not over.
      if (Date.now() - (compacting.get(sessionID) ?? 0) < LASTS) return
      if (await isChild(sessionID)) return
      const said = parts.filter((part) => part.type === "text" && !part.synthetic)
      if (!pointers.has(sessionID)) {
        if (pointers.size > 1000) pointers.clear()
        pointers.set(sessionID, "")
        const source = (await isNew(sessionID)) ? "startup" : "resume"
        pointers.set(sessionID, await hook("session-start", sessionID, SHORT, { source }))
      }
      const prompt = said.map(({ text }) => text).join("\n")
      const text = await hook("user-prompt-submit", sessionID, SHORT, { prompt })
      if (text === "") return
      // Behind the user's own words.
      const id = `${parts.at(-1)?.id ?? "prt_"}z`
      parts.push({ id, sessionID, messageID: message.id, type: "text", synthetic: true, text })
    }),

    "experimental.chat.system.transform": safe(async ({ sessionID }, { system }) => {
      const text = pointers.get(sessionID)
      // Some servers take one piece only. Whoever names or sums up the session need not know.
      if (text && system.length > 0 && !compacting.has(sessionID) && !NAMER.test(system[0]))
        system[0] = `${system[0]}\n\n${text}`
    }),

    "experimental.session.compacting": safe(async ({ sessionID }) => {
      await hook("pre-compact", sessionID, LONG)
      if (!(await isChild(sessionID))) compacting.set(sessionID, Date.now())
    }),

    "experimental.text.complete": safe(async ({ sessionID, messageID }, output) => {
      const announced = compacting.get(sessionID)
      if (announced === undefined) return
      compacting.delete(sessionID)
      if (Date.now() - announced > LASTS) return
      const found = await within(client.session.message({ path: { id: sessionID, messageID } }), 1000)
      // Of another message than the summary.
      if (found?.data && found.data.info?.summary !== true) return
      const last_assistant_message = output.text
      const more = { source: "compact", last_assistant_message }
      const text = await hook("session-start", sessionID, LONG, more)
      if (text !== "") output.text = `${output.text.trimEnd()}\n\n${text}`
    }),
  }
}
