/** What terminals send, and what it means. */
import { describe, expect, test } from "bun:test"
import { KeyDecoder, type KeyInput } from "../../../../src/cli/picker/key-decoder.ts"

const named = (inputs: readonly KeyInput[]): string[] =>
  inputs.map((input) =>
    input.kind === "key"
      ? input.name
      : input.kind === "text"
        ? `"${input.text}"`
        : `${input.action}@${input.column},${input.row}`,
  )

const decode = (...reads: readonly string[]): string[] => {
  const decoder = new KeyDecoder()
  return [...reads.flatMap((read) => named(decoder.decode(read))), ...named(decoder.flush())]
}

test.each<[string, string[]]>([
  ["abc", ['"abc"']],
  ["größe 语言 🛡️", ['"größe 语言 🛡️"']],
  ["\r\n\t\x7f\b", ["enter", "ctrl-j", "tab", "backspace", "backspace"]],
  ["\x01\x0f\x18\x1a\0", ["ctrl-a", "ctrl-o", "ctrl-x", "ctrl-z", "ctrl-space"]],
  ["\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F", ["up", "down", "right", "left", "home", "end"]],
  ["\x1bOA\x1bOB\x1bOP", ["up", "down", "f1"]],
  ["\x1b[5~\x1b[6~\x1b[3~\x1b[1~\x1b[4~\x1b[11~", ["page-up", "page-down", "delete", "home", "end", "f1"]],
  ["\x1b[[A", ["f1"]],
  ["\x1b[1;2A\x1b[1;3B\x1b[1;5C\x1b[1;6D", ["shift-up", "alt-down", "ctrl-right", "ctrl-shift-left"]],
  ["\x1bb\x1bB\x1b\x7f", ["alt-b", "alt-b", "alt-backspace"]],
  ["\x1b", ["esc"]],
  ["\x1bO", ["alt-o"]],
  ["\x1b]", ["alt-]"]],
  ["\x1b\x1b[A", ["esc", "up"]],
  ["a\x1b[Ab", ['"a"', "up", '"b"']],
  ["\x1b[<0;5;3M\x1b[<0;5;3m\x1b[<64;1;1M\x1b[<65;80;24M", ["press@4,2", "wheel-up@0,0", "wheel-down@79,23"]],
  ["\x1b[200~two\nlines\x1b[31m\x1b[201~x", ['"two lines [31m"', '"x"']],
  // Replies of the terminal, sequences that mean nothing here, C1 controls.
  ["\x1b]11;rgb:0/0/0\x07a\x1b]52;c;x\x1b\\b\x1bP1$r0m\x1b\\c", ['"a"', '"b"', '"c"']],
  ["\x1b[?62;4c\x1b[I\x1b[97~d", ['"d"']],
  ["\x9b31mx\x85", ['"31mx"']],
])("%j", (text, expected) => {
  expect(decode(text)).toEqual(expected)
})

test("a sequence may come in any pieces", () => {
  const text = "a\x1b[1;5C\x1bOP\x1b[<65;80;24M\x1b[200~pasted\x1b[201~z\x1b]0;t\x1b\\\x1bb"
  const whole = decode(text)
  expect(whole).toEqual(['"a"', "ctrl-right", "f1", "wheel-down@79,23", '"pasted"', '"z"', "alt-b"])
  for (let at = 1; at < text.length; at++) expect(decode(text.slice(0, at), text.slice(at))).toEqual(whole)
  expect(decode(...text)).toEqual(whole)
})

describe("what never ends", () => {
  test("a sequence that has only begun is dropped, and what follows is read", () => {
    const decoder = new KeyDecoder()
    expect(decoder.decode("\x1b[12")).toEqual([])
    expect(decoder.isWaiting).toBe(true)
    expect(decoder.flush()).toEqual([])
    expect(named(decoder.decode("x"))).toEqual(['"x"'])
  })

  test("an endless sequence, reply or paste takes no more than its share", () => {
    const decoder = new KeyDecoder()
    for (let n = 0; n < 1000; n++) decoder.decode(`\x1b[${"1;".repeat(100)}`)
    decoder.flush()
    for (let n = 0; n < 1000; n++) decoder.decode(`\x1b]${"x".repeat(100)}`)
    decoder.flush()
    decoder.decode("\x1b[200~")
    for (let n = 0; n < 1000; n++) expect(decoder.decode("y".repeat(1000))).toEqual([])
    expect(decoder.isWaiting).toBe(false)
    expect(named(decoder.decode("\x1b[201~"))[0]!.length).toBeLessThan(10_010)
  })
})
