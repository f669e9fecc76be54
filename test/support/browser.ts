/** A real browser without a window: Debian's Chromium, steered by its own DevTools protocol. */
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { tempFolder } from "./temp.ts"

/** Installed by `npm run setup`. */
export const AXE = join(import.meta.dir, "../../node_modules/axe-core/axe.min.js")

export const CHROMIUM = Bun.which("chromium") ?? Bun.which("google-chrome")

interface Message {
  readonly id?: number
  readonly sessionId?: string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

interface View {
  readonly width: number
  readonly height: number
  readonly dark?: boolean
  /** Whether the page's own script runs; tests can ask the page in any case. */
  readonly script?: boolean
  readonly phone?: boolean
}

type Child = Bun.Subprocess<"ignore", "ignore", "pipe">
type Folder = ReturnType<typeof tempFolder>

/** ms for the browser to start on a busy machine, and for it to answer. */
const PATIENCE = 30_000

export class Browser {
  readonly #child: Child
  readonly #folder: Folder
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>()
  readonly #heard = new Map<string, (message: Message) => void>()
  #sent = 0

  private constructor(child: Child, folder: Folder, socket: WebSocket) {
    this.#child = child
    this.#folder = folder
    this.#socket = socket
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data)) as Message))
  }

  static async start(): Promise<Browser> {
    const folder = tempFolder()
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    const child = Bun.spawn(
      [CHROMIUM!, ...flags, "--remote-debugging-port=0", `--user-data-dir=${folder.path}`, "about:blank"],
      { stdin: "ignore", stdout: "ignore", stderr: "pipe", env: { ...process.env, HOME: folder.path } },
    )
    const socket = new WebSocket(await addressOf(child.stderr))
    await new Promise((opened, failed) => {
      socket.addEventListener("open", opened)
      socket.addEventListener("error", failed)
    })
    return new Browser(child, folder, socket)
  }

  async page({ width, height, dark = false, script = true, phone = false }: View): Promise<Page> {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" })
    const attached = await this.send("Target.attachToTarget", { targetId, flatten: true })
    const id = String(attached["sessionId"])
    const page = new Page((method, params) => this.send(method, params, id))
    this.#heard.set(id, (message) => page.hear(message.method ?? "", message.params ?? {}))
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`)
    await page.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: phone,
    })
    const scheme = { name: "prefers-color-scheme", value: dark ? "dark" : "light" }
    await page.send("Emulation.setEmulatedMedia", { features: [scheme] })
    if (!script) await page.send("Emulation.setScriptExecutionDisabled", { value: true })
    return page
  }

  send(
    method: string,
    params: Record<string, unknown> = {},
    sessionId?: string,
  ): Promise<Record<string, unknown>> {
    const id = ++this.#sent
    const answer = Promise.withResolvers<Record<string, unknown>>()
    this.#waiting.set(id, answer)
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }))
    return answer.promise
  }

  #hear(message: Message): void {
    if (message.id === undefined) {
      this.#heard.get(message.sessionId ?? "")?.(message)
      return
    }
    const answer = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.error === undefined) answer?.resolve(message.result ?? {})
    else answer?.reject(new Error(message.error.message))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.send("Browser.close")
    await this.#child.exited
    rmSync(this.#folder.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

/** Chromium names its port there. */
async function addressOf(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = ""
  const late = setTimeout(() => stderr.cancel(), PATIENCE)
  for await (const piece of stderr) {
    text += new TextDecoder().decode(piece)
    const address = /DevTools listening on (ws:\S+)/.exec(text)?.[1]
    if (address === undefined) continue
    clearTimeout(late)
    return address
  }
  throw new Error(`Chromium did not start: ${text}`)
}

export class Page {
  readonly send: (method: string, params?: Record<string, unknown>) => Promise<Record<string, unknown>>
  /** What the console says: errors, violations of the page's security policy. */
  readonly complaints: string[] = []
  /** Addresses that were asked for, besides data: URLs. */
  readonly requests: string[] = []
  #loaded: PromiseWithResolvers<void> | undefined

  constructor(send: Page["send"]) {
    this.send = send
  }

  hear(method: string, params: Record<string, unknown>): void {
    if (method === "Page.loadEventFired") this.#loaded?.resolve()
    else if (method === "Network.requestWillBeSent") {
      const { url } = params["request"] as { url: string }
      if (!url.startsWith("data:")) this.requests.push(url)
    } else if (/^(Runtime\.exceptionThrown|Runtime\.consoleAPICalled|Log\.entryAdded)$/.test(method))
      this.complaints.push(JSON.stringify(params))
  }

  async open(address: string): Promise<void> {
    this.#loaded = Promise.withResolvers()
    await this.send("Page.navigate", { url: address })
    await this.#loaded.promise
  }

  /** The value of an expression in the page, or of the promise that it is. */
  async ask<T>(expression: string): Promise<T> {
    const answer = await this.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    const { result, exceptionDetails } = answer as {
      result: { value: T }
      exceptionDetails?: { exception?: { description?: string } }
    }
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description)
    return result.value
  }

  /** How many elements are seen. */
  seen(selector: string): Promise<number> {
    return this.ask(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].filter((one) => one.checkVisibility()).length`,
    )
  }

  /** What axe-core finds: its rules, each with the elements that break it. */
  async violations(): Promise<unknown> {
    await this.ask(`${readFileSync(AXE, "utf8")};1`)
    return this.ask(
      "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]))",
    )
  }

  /** Types into whatever has the focus. */
  async type(text: string): Promise<void> {
    await this.send("Input.insertText", { text })
  }

  async press(key: string): Promise<void> {
    const text = key.length === 1 ? { text: key } : key === "Enter" ? { text: "\r" } : {}
    const code = { Enter: 13, Escape: 27 }[key] ?? 0
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, windowsVirtualKeyCode: code, ...text })
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code })
  }

  async close(): Promise<void> {
    await this.send("Page.close")
  }

  /** PNG of what is seen. */
  async picture(): Promise<Uint8Array> {
    return Buffer.from(String((await this.send("Page.captureScreenshot"))["data"]), "base64")
  }

  async pdf(): Promise<Uint8Array> {
    return Buffer.from(
      String((await this.send("Page.printToPDF", { printBackground: true }))["data"]),
      "base64",
    )
  }
}
