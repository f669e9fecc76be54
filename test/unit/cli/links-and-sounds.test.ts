/** What a server returns as a link or a sound is found, shown, on the page, and in exports. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mediaHtml, picture } from "../../../src/cli/pages/html/turn-html.ts"
import { Inside, run } from "../../support/inside.ts"

const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64")
const WAV = base64(`RIFF\x10\x00\x00\x00WAVEfmt ${"\0".repeat(3000)}`)
const LINK = {
  type: "resource_link",
  uri: "kiln://logs/7",
  name: "log-7",
  title: "Firing of June",
  description: "bisque, 1180 degrees",
}

let machine: Inside
let session: string
beforeAll(async () => {
  machine = new Inside()
  const transcript = machine.session().user("How did the firing go?").message()
  transcript.block({ type: "tool_use", id: "t", name: "mcp__kiln__firings", input: { month: 6 } })
  const content = [LINK, { type: "audio", data: WAV, mimeType: "audio/wav" }]
  transcript
    .user([{ type: "tool_result", tool_use_id: "t", content }])
    .message()
    .say("See its log.")
  await machine.hook("stop", transcript.flush())
  session = transcript.session
})
afterAll(() => machine[Symbol.dispose]())

const said = async (...words: string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(words, machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

test("a link is found by its title, its address and what it says of itself", async () => {
  for (const query of ["firing of june", "kiln://logs/7", "bisque"])
    expect(JSON.parse(await said("search", query, "-a", "--role", "tool", "--json")).hits).toMatchObject([
      { tool: "mcp__kiln__firings" },
    ])
})

test("both are shown and exported", async () => {
  const [turn] = JSON.parse(await said("show", session, "--json")).turns
  for (const words of [
    ["show", turn.handle],
    ["export", session, "--md"],
  ]) {
    const text = await said(...words)
    expect(text).toContain("Firing of June\nkiln://logs/7\nbisque, 1180 degrees")
    expect(text).toContain("audio/wav, 3.0 KB")
  }
  const whole = JSON.parse(await said("show", turn.handle, "--json"))
  const parts = whole.messages.flatMap((message: { parts: object[] }) => message.parts)
  expect(parts).toContainEqual({
    kind: "media",
    mediaType: "audio/wav",
    base64Length: WAV.length,
    origin: "tool",
  })
  expect(await said("export", session, "--jsonl")).toContain('"mediaType":"audio/wav"')
  const page = await said("export", session, "--html")
  expect(page).toContain("bisque, 1180 degrees")
  expect(page).toContain(
    `<audio class="item" data-kind="sound" controls src="data:audio/wav;base64,${WAV}"></audio>`,
  )
  expect(page).toContain("media-src data:")
})

test("only what browsers play as sound is put into a page; anything else is named", () => {
  const html = (data: string | undefined) =>
    mediaHtml({ kind: "media", mediaType: "audio/wav", base64Length: data?.length ?? 0 }, data).text
  for (const start of [
    "RIFF\x10\x00\x00\x00WAVEfmt ",
    "ID3\x03........",
    "\xff\xfb..........",
    "OggS........",
    "fLaC........",
  ])
    expect(html(base64(start))).toStartWith("<audio ")
  for (const other of ["<svg onload='x'/>", "RIFF\x10\x00\x00\x00AVI LIST", "MThd........"])
    expect(html(base64(other))).toMatch(
      /^<p class="item mark" data-kind="mark">audio\/wav, \d+ B, not shown<\/p>\n$/,
    )
  expect(html('SUQz"><script>')).not.toContain("script")
  expect(html(undefined)).toBe('<p class="item mark" data-kind="mark">audio/wav, not shown</p>\n')
  expect(picture(WAV)).toBeUndefined()
})
