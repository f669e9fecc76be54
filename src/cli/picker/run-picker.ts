/** Runs the picker: events from the terminal into the state, pictures out, and what has to be done in between. */

import { isatty, WriteStream } from "node:tty"
import { CtxError, EXIT, isCtxError, messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { closeSync, openSync } from "../../base/fs.ts"
import { oneLine, shellWord } from "../../base/text.ts"
import { STDIN, STDOUT, writeAll } from "../../base/write-output.ts"
import { childEnvironment, isDumb, type TerminalTraits, terminalTraits } from "../../config/load.ts"
import type { Hit } from "../../find/hit.ts"
import type { Environment } from "../command.ts"
import { safe } from "../style.ts"
import { KeyDecoder, type KeyInput } from "./key-decoder.ts"
import type { PickerArchive } from "./picker-archive.ts"
import { type Picture, pickerPicture } from "./picker-picture.ts"
import {
  type Choice,
  type Chosen,
  type Found,
  initialState,
  LEAST,
  type PickerEffect,
  type PickerEvent,
  type PickerState,
  selectedHit,
} from "./picker-state.ts"
import { updated } from "./picker-update.ts"
import { lineWith } from "./query-line.ts"

interface PickerOptions {
  readonly query: string
  /** Whether what is chosen is printed instead of opened or copied. */
  readonly isPrinting: boolean
  readonly color: boolean
  /** Rows that are wanted of a screen with so many; undefined: the whole screen. */
  readonly height?: ((rows: number) => number) | undefined
}

interface Picked {
  readonly code: number
  /** What was chosen, to be printed. */
  readonly chosen?: string
}

export async function runPicker(env: Environment, options: PickerOptions): Promise<Picked> {
  using terminal = openPickerTerminal(options.height)
  const picker = new Picker(env, options, terminal)
  // Loading what searches takes as long as everything before.
  const { PickerArchive } = await import("./picker-archive.ts")
  using archive = new PickerArchive(env)
  return await picker.run(archive)
}

/** What is done as soon as nobody types, and how many ms after the last key. */
const IDLE = { search: 0, preview: 20, meaning: 80, close: 2000 } as const

class Picker {
  readonly #env: Environment
  readonly #terminal: PickerTerminal
  readonly #traits: TerminalTraits = terminalTraits()
  readonly #color: boolean
  readonly #painter: PicturePainter
  #state: PickerState
  #due: keyof typeof IDLE | undefined = "search"
  #isOpened = false
  /** The hit whose turn was read last. Another search may have found something else in the same turn. */
  #previewed: Hit | undefined
  #picked: Picked | undefined
  /** What needs the whole screen, before the next event. */
  #errand: (() => Promise<void>) | undefined
  /** There from the first event on. */
  #archive!: PickerArchive

  constructor(
    env: Environment,
    { query, isPrinting, color, height }: PickerOptions,
    terminal: PickerTerminal,
  ) {
    this.#env = env
    this.#terminal = terminal
    this.#color = color
    this.#painter = new PicturePainter(height !== undefined)
    this.#state = initialState({ ...terminal.size, line: lineWith(query), isPrinting })
    this.#paint()
  }

  async run(archive: PickerArchive): Promise<Picked> {
    this.#archive = archive
    while (this.#picked === undefined) {
      const events = await this.#terminal.next(this.#due && IDLE[this.#due])
      for (const event of events) {
        if (this.#picked !== undefined) break
        this.#take(event)
        if (this.#errand !== undefined) await this.#away(this.#errand)
      }
      if (events.length === 0) await this.#doWhatIsDue()
      if (this.#picked === undefined) this.#paint()
    }
    return this.#picked
  }

  #take(event: TerminalEvent): void {
    if (event.kind === "ended") this.#picked = { code: event.code }
    else if (event.kind === "continued") this.#return()
    else if (event.kind === "meant") {
      // Who has typed since waits for another search.
      if (event.found !== undefined && this.#due !== "search") {
        this.#apply({ kind: "joined", found: event.found })
        this.#due = "preview"
      }
    } else {
      if (event.kind === "resized") this.#painter.forget()
      this.#apply(event)
      // Even if only the selection has moved, another turn may have to be read.
      if (this.#due !== "search") this.#due = "preview"
    }
  }

  #apply(event: PickerEvent): void {
    const [state, effects] = updated(this.#state, event)
    this.#state = state
    for (const effect of effects) this.#do(effect)
  }

  #do(effect: PickerEffect): void {
    switch (effect.do) {
      case "search":
        this.#due = "search"
        return
      case "open":
        this.#errand = async () =>
          (await import("./turns-elsewhere.ts")).showTurnsInPager(
            this.#env,
            handlesOf(effect.hits),
            this.#color,
          )
        return
      case "export":
        void this.#export(handlesOf(effect.hits))
        return
      case "resume":
        this.#resume(effect.hit)
        return
      case "pin":
        this.#pin(effect.hit)
        return
      case "copy":
      case "print": {
        // The turn may have been forgotten since.
        const text = tryTo(() => this.#wanted(effect.hits, effect.what))
        if (text === undefined) this.#tell(`this turn has no ${effect.what}`)
        else if (effect.do === "print") this.#picked = { code: EXIT.ok, chosen: text }
        else this.#copy(text)
        return
      }
      case "list-tools":
        this.#apply({ kind: "tools", tools: tryTo(() => this.#archive.tools()) ?? [] })
        return
      case "redraw":
        this.#painter.forget()
        return
      case "suspend":
        this.#terminal.suspend()
        return
      case "quit":
        this.#picked = { code: this.#state.isPrinting ? EXIT.notFound : EXIT.ok }
    }
  }

  /** What cannot be resumed is told here: the query and the marks are worth keeping. */
  #resume({ session }: Hit): void {
    const run = [this.#env.exePath, "resume", "--", session]
    const env = childEnvironment()
    const dry = Bun.spawnSync(run.toSpliced(2, 0, "--dry-run"), { stdio: ["ignore", "ignore", "pipe"], env })
    const why = dry.stderr.toString().trim().replace("ctxbridge: ", "")
    if (dry.exitCode !== 0) this.#tell(why.replace("\nhint: ", "; "))
    else
      this.#errand = async () => {
        const { exitCode } = Bun.spawnSync(run, { stdio: ["inherit", "inherit", "inherit"], env })
        this.#picked = { code: exitCode }
      }
  }

  #pin(hit: Hit): void {
    try {
      this.#tell(
        `${this.#archive.pin(hit, Date.now()) ? "pinned" : "no longer pinned"}: the session of ${hit.handle}`,
      )
    } catch (error) {
      this.#tell(messageOf(error))
    }
  }

  /** The screen stays: it tells where they are. */
  async #export(handles: readonly string[]): Promise<void> {
    const { exportTurns } = await import("./turns-elsewhere.ts")
    const text = await exportTurns(this.#env, handles).catch(messageOf)
    this.#terminal.tell({ kind: "told", text: safe(text) })
  }

  #wanted(hits: Chosen, what: Choice): string | undefined {
    const [hit] = hits
    const text =
      what === "handle"
        ? handlesOf(hits).join(" ")
        : what === "export"
          ? `ctxbridge export ${handlesOf(hits).join(" ")}`
          : what === "resume"
            ? `ctxbridge resume ${shellWord(hit.session)}`
            : what === "command"
              ? this.#archive.command(hit)
              : this.#archive.path(hit)
    return text && safe(text)
  }

  #copy(text: string): void {
    const by = copyText(text, this.#traits, (sequence) => this.#terminal.write(sequence))
    this.#tell(`copied by ${by}: ${text}`)
  }

  #tell(text: string): void {
    this.#apply({ kind: "told", text })
  }

  /** What takes longer than a key: one step at a time, so that the next key is not far. */
  async #doWhatIsDue(): Promise<void> {
    try {
      if (this.#due === "search") this.#search()
      else if (this.#due === "preview") this.#preview()
      else if (this.#due === "meaning") this.#askForMeaning()
      else {
        this.#archive.close()
        this.#due = undefined
      }
    } catch (error) {
      this.#due = undefined
      this.#archive.close()
      this.#apply({ kind: "failed", problem: problemOf(error) })
    }
  }

  #search(): void {
    this.#due = "preview"
    if (!this.#isOpened) this.#apply({ kind: "opened", here: this.#archive.here() })
    this.#isOpened = true
    const { line, filters, limit } = this.#state
    const isTyping = line.cursor === line.text.length
    const found = this.#archive.search({ text: line.text, isTyping, filters, limit }, Date.now())
    this.#apply({ kind: "found", found })
  }

  /** Words have been shown by then, and whoever types on need not wait for the model: its answer is an event. */
  #askForMeaning(): void {
    // An answer that comes later than that is for nobody.
    this.#due = "close"
    const tell = (found?: Found): void => this.#terminal.tell({ kind: "meant", found })
    this.#archive.meaning().then(tell, () => tell())
  }

  #preview(): void {
    this.#due = this.#archive.isOpenToMeaning ? "meaning" : "close"
    if (this.#state.line.text !== "") void this.#archive.wakeModel()
    const hit = selectedHit(this.#state)
    if (hit === undefined || hit === this.#previewed) return
    this.#previewed = hit
    // The turn may have been forgotten since, or its copy be damaged: then what the search gave is shown.
    const turn = tryTo(() => this.#archive.preview(hit))
    if (turn !== undefined) this.#apply({ kind: "previewed", preview: { handle: hit.handle, turn } })
  }

  #paint(): void {
    const screen = { color: this.#color, unicode: this.#traits.isUnicode, now: Date.now() }
    this.#terminal.write(this.#painter.paint(pickerPicture(this.#state, screen)))
  }

  /** Leaves the screen to another program. */
  async #away(errand: () => Promise<void>): Promise<void> {
    this.#errand = undefined
    this.#archive.close()
    // It takes 200 MB, and the other program may be Claude Code.
    this.#archive.endModel()
    this.#terminal.leave()
    try {
      await errand()
    } catch (error) {
      this.#tell(messageOf(error))
    }
    if (this.#picked === undefined) this.#return()
  }

  #return(): void {
    // Who stopped us without a key has left the terminal as the shell wants it.
    this.#terminal.leave()
    this.#terminal.enter()
    this.#painter.forget()
    this.#apply({ kind: "resized", ...this.#terminal.size })
    this.#due = "search"
  }
}

const handlesOf = (hits: Chosen): string[] => hits.map(({ handle }) => handle)

function problemOf(error: unknown): string[] {
  const hint = isCtxError(error) ? error.hint : "ctxbridge doctor says what is wrong"
  if (isCtxError(error) && error.code === "no-archive")
    return [
      "Nothing is archived yet.",
      "",
      "`ctxbridge import` archives the sessions that Claude Code has on this computer.",
    ]
  return [oneLine(safe(messageOf(error))), ...(hint === undefined ? [] : ["", oneLine(safe(hint))])]
}

/* Brings a terminal from one picture to the next: only lines that differ are written. Pure. */

/** Terminals that know this sequence show the picture at once; others ignore it. */
const BEGIN = "\x1b[?2026h\x1b[?25l"
const END = "\x1b[?25h\x1b[?2026l"

export class PicturePainter {
  readonly #isInline: boolean
  #shown: readonly string[] = []

  /** @param isInline whether pictures begin in the row of the cursor, wherever that is, and leave it in their first one */
  constructor(isInline = false) {
    this.#isInline = isInline
  }

  /** Forgets what is on the screen: something else has written there. */
  forget(): void {
    this.#shown = []
  }

  /** @returns what to write */
  paint({ lines, cursor }: Picture): string {
    let text = BEGIN
    if (this.#isInline) {
      // Room for all rows first: at the end of the screen, what is above moves up.
      if (this.#shown.length === 0)
        text += `\r\x1b[J${"\r\n".repeat(lines.length - 1)}${moved(1 - lines.length)}`
      for (const [row, line] of lines.entries())
        if (line !== this.#shown[row]) text += `\r${moved(row)}\x1b[0m\x1b[2K${line}\r${moved(-row)}`
      this.#shown = lines
      return `${text}\x1b[${cursor.column + 1}G${END}`
    }
    for (const [row, line] of lines.entries()) {
      // Erased before, not after: behind the last column, the cursor stays on it.
      if (line !== this.#shown[row]) text += `\x1b[${row + 1};1H\x1b[0m\x1b[2K${line}`
    }
    this.#shown = lines
    return `${text}\x1b[${cursor.row + 1};${cursor.column + 1}H${END}`
  }
}

/** So many rows down, or up if it is negative. */
const moved = (rows: number): string => (rows === 0 ? "" : `\x1b[${Math.abs(rows)}${rows < 0 ? "A" : "B"}`)

/*
 * Puts text into the clipboard. Near the user there is a program for it; from another computer, only the terminal can do
 * it (OSC 52), and in tmux only tmux, which as a rule takes no such sequence from a program (`set-clipboard external`).
 */

/** Programs that read it from their input, the first one that is there. */
function programs({ isRemote, hasWayland, hasX11 }: TerminalTraits): string[][] {
  if (isRemote) return []
  return [
    ...(process.platform === "darwin" ? [["pbcopy"]] : []),
    ...(hasWayland ? [["wl-copy"]] : []),
    ...(hasX11
      ? [
          ["xclip", "-selection", "clipboard"],
          ["xsel", "--clipboard", "--input"],
        ]
      : []),
    // Of Windows, which Linux in its subsystem can start, too.
    ["clip.exe"],
  ]
}

/** ms that such a program may take. */
const PATIENCE = 1000

/**
 * @param write writes to the terminal
 * @returns how it was done
 */
export function copyText(text: string, traits: TerminalTraits, write: (text: string) => void): string {
  // -w: also into the clipboard of the terminal that tmux is in.
  const tmux = traits.isTmux ? [["tmux", "load-buffer", "-w", "-"]] : []
  const native = programs(traits).find(([name]) => Bun.which(name!) !== null)
  const done = [...tmux, ...(native === undefined ? [] : [native])].filter((command) => run(command, text))
  if (done.length === 0) write(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`)
  return done.map(([name]) => name).join(", ") || "the terminal"
}

function run(command: readonly string[], text: string): boolean {
  try {
    const { exitCode } = Bun.spawnSync([...command], {
      stdin: Buffer.from(text),
      stdout: "ignore",
      stderr: "ignore",
      timeout: PATIENCE,
    })
    return exitCode === 0
  } catch {
    return false
  }
}

/*
 * The terminal of a program that has the whole screen, or rows below the prompt: raw keys in, text out, and everything as it was before when the
 * program ends, however it does.
 */

/** The other screen; no line breaks of its own; pastes in brackets; clicks and wheel, with coordinates as numbers. */
const ENTER = "\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?1000h\x1b[?1006h"
const LEAVE = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"

/** The same below the prompt. The mouse stays the terminal's; what was drawn from the cursor on is erased. */
const ENTER_INLINE = "\x1b[?7l\x1b[?2004h"
const LEAVE_INLINE = "\x1b[0m\r\x1b[J\x1b[?2004l\x1b[?7h\x1b[?25h"

/** ms after which an escape that nothing follows is the key. Over a slow line, a sequence may come in pieces. */
const LONE_ESCAPE = 50

/** ms after which we would have been stopped. */
const NOT_STOPPED = 100

interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

type TerminalEvent =
  | KeyInput
  | ({ readonly kind: "resized" } & TerminalSize)
  /** What the last search finds with meaning besides, if anything. */
  | { readonly kind: "meant"; readonly found: Found | undefined }
  | { readonly kind: "told"; readonly text: string }
  /** We were stopped and go on. */
  | { readonly kind: "continued" }
  /** A signal, or the terminal is gone. */
  | { readonly kind: "ended"; readonly code: number }

/** With what a shell reports for each of these signals. */
const ENDING = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const

/** @throws CtxError if there is no terminal, or one that cannot be drawn on */
function openPickerTerminal(height: PickerOptions["height"]): PickerTerminal {
  const output = isatty(STDOUT) ? STDOUT : openTty()
  if (output === undefined || !isatty(STDIN) || isDumb()) {
    if (output !== undefined && output !== STDOUT) closeSync(output)
    throw new CtxError("no-terminal", "the picker needs a terminal", {
      hint: "ctxbridge search finds the same without one",
    })
  }
  return new PickerTerminal(output, height)
}

/** What is written to stdout may be for another program. */
function openTty(): number | undefined {
  try {
    return openSync("/dev/tty", "w")
  } catch {
    return undefined
  }
}

class PickerTerminal {
  readonly #output: number
  readonly #height: PickerOptions["height"]
  readonly #decoder = new KeyDecoder()
  readonly #utf8 = new TextDecoder()
  #events: TerminalEvent[] = []
  #wake: (() => void) | undefined
  #lone: ReturnType<typeof setTimeout> | undefined
  #isEntered = false

  constructor(output: number, height: PickerOptions["height"]) {
    this.#output = output
    this.#height = height
    process.stdin.on("data", this.#read)
    process.stdin.on("end", this.#gone)
    process.stdin.on("error", this.#gone)
    process.on("SIGWINCH", this.#resized)
    process.on("SIGCONT", this.#continued)
    for (const signal of Object.keys(ENDING)) process.on(signal, this.#signalled)
    // The last thing that runs, also after an error that nobody caught.
    process.on("exit", this.leave)
    this.enter()
  }

  get size(): TerminalSize {
    // A stream remembers the size it had at first.
    const [columns, rows] = new WriteStream(this.#output).getWindowSize()
    const all = rows || 24
    const wanted = this.#height === undefined ? all : Math.max(LEAST.rows, this.#height(all))
    return { columns: columns || 80, rows: Math.min(all, wanted) }
  }

  enter(): void {
    if (this.#isEntered) return
    process.stdin.setRawMode(true)
    process.stdin.resume()
    this.#isEntered = true
    this.write(this.#height === undefined ? ENTER : ENTER_INLINE)
  }

  readonly leave = (): void => {
    if (!this.#isEntered) return
    try {
      this.write(this.#height === undefined ? LEAVE : LEAVE_INLINE)
      process.stdin.setRawMode(false)
      // Whoever has the terminal now gets its keys, too.
      process.stdin.pause()
    } catch {
      // The terminal is gone.
    }
    this.#isEntered = false
  }

  /** Writes nothing while another program has the screen: where the cursor is then, it goes on when we end. */
  write(text: string): void {
    if (this.#isEntered) writeAll(this.#output, text)
  }

  /** Stops us as Ctrl-Z does other programs, until the shell has us go on. Where no shell could, the system does not. */
  suspend(): void {
    this.leave()
    process.kill(process.pid, "SIGTSTP")
    setTimeout(() => this.#add({ kind: "continued" }), NOT_STOPPED)
  }

  /**
   * Everything that has happened since the last call.
   *
   * @param ms how long to wait for something; undefined: as long as it takes
   * @returns nothing if nothing happened
   */
  async next(ms?: number): Promise<readonly TerminalEvent[]> {
    if (this.#events.length === 0) {
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((done) => {
        this.#wake = done
        if (ms !== undefined) timer = setTimeout(done, ms)
      })
      clearTimeout(timer)
      this.#wake = undefined
    }
    const events = this.#events
    this.#events = []
    return events
  }

  /** Something has happened elsewhere. */
  tell(event: TerminalEvent): void {
    this.#add(event)
  }

  [Symbol.dispose](): void {
    this.leave()
    clearTimeout(this.#lone)
    process.stdin.off("data", this.#read)
    process.stdin.off("end", this.#gone)
    process.stdin.off("error", this.#gone)
    process.stdin.pause()
    process.off("SIGWINCH", this.#resized)
    process.off("SIGCONT", this.#continued)
    for (const signal of Object.keys(ENDING)) process.off(signal, this.#signalled)
    process.off("exit", this.leave)
    if (this.#output !== STDOUT) closeSync(this.#output)
  }

  #add(...events: readonly TerminalEvent[]): void {
    this.#events.push(...events)
    if (this.#events.length > 0) this.#wake?.()
  }

  readonly #read = (bytes: Uint8Array): void => {
    clearTimeout(this.#lone)
    this.#add(...this.#decoder.decode(this.#utf8.decode(bytes, { stream: true })))
    if (this.#decoder.isWaiting)
      this.#lone = setTimeout(() => this.#add(...this.#decoder.flush()), LONE_ESCAPE)
  }

  readonly #gone = (): void => this.#add({ kind: "ended", code: ENDING.SIGHUP })
  readonly #resized = (): void => this.#add({ kind: "resized", ...this.size })
  readonly #continued = (): void => this.#add({ kind: "continued" })
  readonly #signalled = (signal: string): void => {
    // Ctrl-C in a program that has the screen is for that program.
    if (signal === "SIGINT" && !this.#isEntered) return
    this.#add({ kind: "ended", code: ENDING[signal as keyof typeof ENDING] })
  }
}
