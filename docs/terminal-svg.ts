/** Draws commands and what a terminal shows of them as an SVG that types them one after the other. Pure. */

export interface Block {
  readonly command: string
  /** Output, with ANSI colours. */
  readonly lines: readonly string[]
}

const FONT = 14
const CHAR = 8.43
const LINE = 20
const PAD = 18
/** s for a typed character, before the output appears, and before the next command. */
const TYPED = 0.045
const ANSWERED = 0.35
const READ = 2.2

/** Without animations everything is there at once. Colours follow the reader's theme. */
const STYLE = `
text{font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#1f2328}
.w{fill:#f6f8fa;stroke:#d1d9e0}.p{fill:#1a7f37}.b,.n{font-weight:bold}.d{fill:#59636e}.r{fill:#cf222e}.g{fill:#1a7f37}.y{fill:#9a6700}.i{fill:#1b7c83}
.o{animation:o 1ms both}.c{animation:c steps(40) both}
@keyframes o{from{opacity:0}}@keyframes c{from{clip-path:inset(0 100% 0 0)}to{clip-path:inset(0 -1em 0 0)}}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.w{fill:#0d1117;stroke:#3d444d}.p,.g{fill:#3fb950}.d{fill:#9198a1}.r{fill:#f85149}.y{fill:#d29922}.i{fill:#39c5cf}}
@media(prefers-reduced-motion){.o,.c{animation:none}}`

export function svgOf(blocks: readonly Block[], columns: number): string {
  const rows: string[] = []
  let time = 0.4
  let row = 0
  const at = (): number => PAD + FONT + LINE * row++
  for (const { command, lines } of blocks) {
    const typing = command.length * TYPED
    rows.push(
      `<text class="o" style="animation-delay:${seconds(time)}" x="${PAD}" y="${at()}"><tspan class="p">$</tspan></text>`,
      `<text class="c" style="animation-delay:${seconds(time)};animation-duration:${seconds(typing)}" ` +
        `x="${PAD + 2 * CHAR}" y="${PAD + FONT + LINE * (row - 1)}">${escaped(command)}</text>`,
    )
    time += typing + ANSWERED
    const output = lines
      .map((line) => [line, at()] as const)
      .filter(([line]) => line !== "")
      .map(([line, y]) => `<text x="${PAD}" y="${y}">${spans(line)}</text>`)
    rows.push(`<g class="o" style="animation-delay:${seconds(time)}">${output.join("\n")}</g>`)
    row++
    time += READ
  }
  const width = Math.ceil(columns * CHAR + 2 * PAD)
  const height = PAD * 2 + LINE * (row - 1)
  return `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label(blocks)}">
<style>${STYLE}
</style>
<rect class="w" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${rows.join("\n")}
</svg>
`
}

const label = (blocks: readonly Block[]): string =>
  escaped(`A terminal: ${blocks.map(({ command }) => command).join("; ")}`)

const seconds = (time: number): string => `${time.toFixed(2)}s`

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const CLASSES: Readonly<Record<string, string>> = {
  1: "b",
  2: "d",
  7: "n",
  31: "r",
  32: "g",
  33: "y",
  36: "i",
}

/** What ends an attribute: all of them, bold and dim, inverse, a colour. */
const ENDS: Readonly<Record<string, string>> = { 0: "bdnrgyi", "": "bdnrgyi", 22: "bd", 27: "n", 39: "rgyi" }

/** The line's text, what is coloured, bold or inverse in spans. */
function spans(line: string): string {
  let open = ""
  let text = ""
  for (const [n, piece] of line.split(/\x1b\[([\d;]*)m/).entries()) {
    if (n % 2 === 1) {
      for (const code of piece.split(";")) {
        const ended = code in CLASSES && Number(code) > 30 ? "rgyi" : (ENDS[code] ?? "")
        open = [...open].filter((one) => !ended.includes(one)).join("") + (CLASSES[code] ?? "")
      }
    } else if (piece !== "") {
      const classes = [...open].join(" ")
      text += open === "" ? escaped(piece) : `<tspan class="${classes}">${escaped(piece)}</tspan>`
    }
  }
  return text
}
