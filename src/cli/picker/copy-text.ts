/**
 * Puts text into the clipboard. Near the user there is a program for it; from another computer, only the terminal can do
 * it (OSC 52), and in tmux only tmux, which as a rule takes no such sequence from a program (`set-clipboard external`).
 */
import type { TerminalTraits } from "../../config/load.ts"

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
