/** What was chosen when only an option's number, letter or place was said. */
import { describe, expect, test } from "bun:test"
import { decisionsIn, refutedIn } from "../../../src/record/noted-sentences.ts"

const WAYS = `There are two findings:

1. The belt squeaks.
2. The wheel is bent.

**Options:**
1. **Weave the border in linen right away**, with the belt as it is.
2. **Order a new belt** and wait — slower.
3. **Drop the border** (recommended)

I lean toward (1): it needs no order.

Which way?`
const LETTERS = `How shall the warp be kept?

- **A** — on one spool in the hall
- **B** — on three spools in the cellar. It is dry there.

I recommend B.`
const TABLE = `| Option | What | Cost |
|---|---|---|
| A | keep the belt | low |
| B | weave by hand | high |

Which do you prefer?`
const HEADINGS = `### Option A: a wider frame
It takes a day.

### Option B (recommended)
\`hall/\` as it is. Nothing moves.`
const STEPS = `Done:
1. Oiled the wheel
2. Washed the cloth

All seams hold.`
const FAULTS = `The "wash it" option only helps a dirty cloth.

It tears in two places:

1. **At the hem**, on the left
2. **At the seam**, on the right

So option 1 doesn't help. Should I mend it?`
const INLINE =
  "Do you want option 1 (weave it in place), or option 3 (drop the whole border)? I still lean option 1."
const LETTERED_INLINE = "Shall I (a) dye the thread first, (b) dye the cloth later or (c) leave it white?"
const NESTED = `Two variants are possible:
1. Glue the seam
   1. warm the glue
   2. press it
2. Sew the seam by hand`
const WEAVE = "Weave the border in linen right away"
const BELT = "Order a new belt and wait — slower"

const named = (note: string | undefined) => / \((option [\s\S]*)\)$/.exec(note ?? "")?.[1]
const choice = (prompt: string, ...said: string[]): string[] => decisionsIn(prompt, "human", () => said)

describe("a human's choice says what was chosen", () => {
  test.each([
    [WAYS, "option 2.", `option 2: ${BELT}`],
    [WAYS, "Option 1. Also oil the wheel", `option 1: ${WEAVE}`],
    [WAYS, "2", `option 2: ${BELT}`],
    [WAYS, "2 it is", `option 2: ${BELT}`],
    [WAYS, "option two please", `option 2: ${BELT}`],
    [WAYS, "the second one", `option 2: ${BELT}`],
    [WAYS, "yes, the first", `option 1: ${WEAVE}`],
    [WAYS, "the last", "option 3: Drop the border"],
    [WAYS, "go with 3", "option 3: Drop the border"],
    [WAYS, "yes do option 1", `option 1: ${WEAVE}`],
    [WAYS, "let's do 2 for now, can you call the shop?", `option 2: ${BELT}`],
    [WAYS, "1 and 3", `option 1: ${WEAVE}; option 3: Drop the border`],
    [WAYS, "Thanks! That is clear. Let's do option 3, please.", "option 3: Drop the border"],
    [WAYS, "Nimm Option 2", `option 2: ${BELT}`],
    [WAYS, "die zweite bitte", `option 2: ${BELT}`],
    [WAYS, "la segunda", `option 2: ${BELT}`],
    [WAYS, "选项2", `option 2: ${BELT}`],
    [WAYS, "第二个", `option 2: ${BELT}`],
    [LETTERS, "B", "option B: on three spools in the cellar"],
    [LETTERS, "B it is", "option B: on three spools in the cellar"],
    [LETTERS, "let's go with A but in the attic", "option A: on one spool in the hall"],
    [LETTERS, "the latter", "option B: on three spools in the cellar"],
    [TABLE, "B please", "option B: weave by hand"],
    [TABLE, "option b", "option B: weave by hand"],
    [HEADINGS, "Go with option A", "option A: a wider frame"],
    [HEADINGS, "B", "option B: `hall/` as it is"],
    [INLINE, "option 3", "option 3: drop the whole border"],
    [LETTERED_INLINE, "b", "option B: dye the cloth later"],
    ["Where does the lamp go?\n\n1. Into the hall\n2. Into the cellar", "2", "option 2: Into the cellar"],
    [
      "It is a detour.\n\nWant to:\n1. **Do it now**\n2. **Do it later**",
      "let's try 2",
      "option 2: Do it later",
    ],
    [NESTED, "option 2", "option 2: Sew the seam by hand"],
  ])("%#: %j ← %j", (said, prompt, option) => {
    const found = choice(prompt, said)
    expect(found.map(named)).toEqual([option])
    expect(prompt).toContain(found[0]!.slice(0, found[0]!.indexOf(" (option")).replace(/[.,]$/, ""))
  })

  test.each([
    // What is not listed, or in a list of what was done.
    [WAYS, "B"],
    [WAYS, "option 4"],
    [STEPS, "2"],
    [STEPS, "option 2"],
    [FAULTS, "option 2"],
    ["Which of these?\n1. Shall I oil the wheel?\n2. Shall I wash the cloth?", "2"],
    ["", "option 2"],
    // No choices.
    [WAYS, "2 looms stand still"],
    [WAYS, "what about option 2?"],
    [WAYS, "option 2, or is it too slow?"],
    [WAYS, "Option 2 sounds risky"],
    [WAYS, "explain option 2"],
    [WAYS, "not option 2"],
    [WAYS, "option 1 or 2"],
    [WAYS, "The first seam is open"],
    [WAYS, "1. yes\n2. no"],
    [WAYS, "Option 2, definitely not."],
    [WAYS, "Option 3 - no."],
    [WAYS, "Option 3, no, wait: option 2"],
    [WAYS, "I like option 3, but go with 2"],
    [WAYS, "Option 3 is fine but I prefer 2."],
    [WAYS, "The second, as I said, is out of the question."],
    [WAYS, "Option 2: tell me more about it."],
    [WAYS, "2, but not now"],
    [WAYS, "3 so far"],
    [WAYS, "1 - the button is broken\n2 - the page is slow"],
    [WAYS, "Oil the wheel.\n3"],
    [WAYS, "> option 2"],
    [LETTERS, "A seam is open"],
    [WAYS, `option 2\n${"and so on ".repeat(300)}`],
  ])("%#: not %j ← %j", (said, prompt) => expect(choice(prompt, said)).toEqual([]))

  test("an option may have been listed before what was said last, a number alone may not", () => {
    const later = "Option 2 takes a week, since the shop is closed. Shall I?"
    expect(choice("option 2", later, WAYS)).toEqual([`option 2 (option 2: ${BELT})`])
    expect(choice("2", later, WAYS)).toEqual([])
    expect(choice("option 2", LETTERS, TABLE, WAYS)).toEqual([`option 2 (option 2: ${BELT})`])
  })

  test("nothing is looked up for a prompt without a choice", () => {
    const before = () => {
      throw new Error("looked up")
    }
    for (const prompt of ["Weave the border", "Why option 2?", "2 looms stand still", "I see 2, 3 and 4"])
      expect(decisionsIn(prompt, "human", before)).toEqual([])
  })
})

/** Hooks wait for it. Each of these takes seconds if it is looked through again and again. */
describe("however long what was said is", () => {
  const LISTS = `Options:\n${"1. aaa\n2. bbb\n".repeat(3500)}`
  test.each([
    ["lists", LISTS],
    ["lists that are announced by no line near", "1. aaa\n2. bbb\n\n".repeat(3300)],
    ["an option that ends in dots", `Options:\n1. aaa${".".repeat(60_000)}x\n2. bbbb`],
    ["empty lines", `Option 1:${"\n".repeat(10_000)}aaa\n${`Option 2:${"\n".repeat(10)}`.repeat(3000)}`],
    ["blanks in a sentence", `Options: (a) aaaa${" ".repeat(30_000)}x`],
  ])("%s", (_what, said) => {
    const begun = performance.now()
    choice("option 9", `${said}a`, `${said}b`, `${said}c`)
    expect(performance.now() - begun).toBeLessThan(500)
  })

  test("it is read once for a prompt, which makes no more choices than a few", () => {
    let reads = 0
    const before = () => {
      reads++
      return [`${LISTS}\n${WAYS}`]
    }
    const begun = performance.now()
    expect(decisionsIn("option 9. ".repeat(190), "human", before)).toEqual([])
    expect(decisionsIn("option 2. ".repeat(190), "human", before)).toHaveLength(8)
    expect(reads).toBe(2)
    expect(performance.now() - begun).toBeLessThan(500)
  })

  test("a list at its end is found", () => {
    expect(choice("option 2", `${LISTS}${"word ".repeat(9000)}\n\n${WAYS}`)).toEqual([
      `option 2 (option 2: ${BELT})`,
    ])
  })
})

describe("the model's", () => {
  test.each([
    ["Option 2 it is. I'll call the shop.", WAYS, [`Option 2 it is. (option 2: ${BELT})`]],
    [
      "Going with option B: it is dry there.",
      LETTERS,
      ["Going with option B: it is dry there. (option B: on three spools in the cellar)"],
    ],
    [
      "I'll go with the second one because it is dry.",
      LETTERS,
      ["I'll go with the second one because it is dry. (option B: on three spools in the cellar)"],
    ],
    [
      "I'll go with the second loom because it is dry.",
      LETTERS,
      ["I'll go with the second loom because it is dry."],
    ],
    ["Option 4 it is.", WAYS, []],
    // What it says itself, and what is no option.
    [
      "I decided to go with option B (silk on a frame) because the hall is small.",
      WAYS,
      ["I decided to go with option B (silk on a frame) because the hall is small."],
    ],
    [
      "We chose plan B, the loom in the cellar, because the hall is wet.",
      WAYS,
      ["We chose plan B, the loom in the cellar, because the hall is wet."],
    ],
    [
      "I decided to keep the lamp for path 1 because guests still take it.",
      WAYS,
      ["I decided to keep the lamp for path 1 because guests still take it."],
    ],
    [
      "I'll use the second option of the flag, `--fast`, because it skips the check.",
      WAYS,
      ["I'll use the second option of the flag, `--fast`, because it skips the check."],
    ],
    ["I'll go with option A because it is dry.", "", []],
    // What comes behind are steps.
    ["Option 2 it is. Next:\n1. call the shop\n2. oil the wheel\n\nWhich first?", "", []],
    [
      `${LETTERS}\n\nI'll go with option A because it is near.`,
      WAYS,
      ["I'll go with option A because it is near. (option A: on one spool in the hall)"],
    ],
  ])("%#: %j", (answer, said, decisions) => {
    expect(decisionsIn(answer, "model", () => [said])).toEqual(decisions)
  })

  test("what is added stays as far as the option leaves room", () => {
    const long = `I'll go with option 2 because ${"it is dry there ".repeat(12).trim()}.`
    const [note] = decisionsIn(long, "model", () => [WAYS])
    expect(note).toHaveLength(240)
    expect(note).toStartWith("I'll go with option 2 because it is dry there it is dry")
    expect(note).toEndWith(`… (option 2: ${BELT})`)
  })

  test("what stands behind a sentence over two lines is not what was chosen", () => {
    const answer =
      "I'll go with option 2 because it is the driest for all of the cloth that is kept there\nand needs no lamp."
    expect(decisionsIn(`${answer}\n\n${WAYS}`, "model", () => [])).toEqual([])
  })

  test("an option that does not work is told with what it is", () => {
    expect(refutedIn("So **option 2 cannot work**.", () => [WAYS])).toEqual([
      `So **option 2 cannot work**. (option 2: ${BELT})`,
    ])
    expect(refutedIn("In that case, option 2 doesn't help.", () => [WAYS])).toEqual([
      `In that case, option 2 doesn't help. (option 2: ${BELT})`,
    ])
    expect(refutedIn("So option 2 cannot work.")).toEqual([])
  })
})
