import { describe, expect, test } from "bun:test"
import { constraintsIn, decisionsIn } from "../../../src/record/noted-sentences.ts"

describe("constraints of the user", () => {
  test.each([
    "Never touch the generated files.",
    "Use fetch, not axios.",
    "please don't add new dependencies",
    "Always run the linter before you commit",
    "You must not change the public API.",
    "Make sure every error has a code.",
    "From now on answer in French.",
    "Write it with plain SQL instead of an ORM",
    "不要修改生成的文件",
    "Benutze niemals var, nimm const.",
    "Leave the notes in the margin untouched.",
    "Remember never to push",
    "verwende niemals any",
    "The kiln should be fired by night only.",
    "Comments in the code should be short.",
    "One folder, no new ones.",
    "let's not fire the kiln before the doors are shut",
    "Write it for a potter, no Latin, no rhymes.",
    "We should first measure the door, then cut it.",
    '"blue" it is, don\'t ask for colours again.',
    "Make sure it works without a network.",
  ])("%s", (sentence) => {
    expect(constraintsIn(`Some words before.\n${sentence}\nSome words after.`)).toEqual([sentence])
  })

  test.each([
    "Why do you never run the tests?",
    "I don't care about the effect right now.",
    "Don't worry about it.",
    "Can we use tabs instead of spaces?",
    "Add a button to the page",
    "never mind, go on with that",
    "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.",
    "Leave a note saying that the main branch is untouched",
    "The next start will use the latest, not the cached, version.",
    "```\n// never call this\n```",
    "> Never touch the generated files.\n  > Use fetch, not axios.\nWhy do you say so?",
    "<system-reminder>You must obey</system-reminder>",
    '"Never fire the kiln twice."',
    "This shouldn't happen.",
    "make sure it's on the upper shelf",
    "maybe let's not have two doors",
    "Consider a second hinge: you never know.",
    "This causes the loom to always stop.",
    "The thread would be torn and must not be pulled.",
  ])("not: %s", (text) => {
    expect(constraintsIn(text)).toEqual([])
  })

  test("each only once, and a limited number", () => {
    const rule = "Never do that again."
    expect(constraintsIn(`${rule}\n${rule}`)).toEqual([rule])
    const many = Array.from({ length: 50 }, (_, n) => `Never do number ${n}.`).join("\n")
    expect(constraintsIn(many).length).toBeLessThanOrEqual(8)
  })
})

describe("decisions of the model", () => {
  test.each([
    "I chose exponential backoff rather than a fixed delay because it spreads load.",
    "Decision: keep the old table.",
    "I'm choosing zod rather than yup",
    "We'll go with the second option.",
  ])("%s", (sentence) => {
    expect(decisionsIn(sentence)).toEqual([sentence])
  })

  test.each([
    "The issue is well-specified.",
    "This approach works.",
    "Should I have decided otherwise?",
    "I will read the file now.",
    "It depends on a deferred decision: which table stays.",
    "That's now decided.",
    "Let me dig into whether the three share a root cause before I fix them.",
    "Let me look into the root cause.",
    // Headings, and what only announces.
    "## Decision: keep the old table",
    "Decision:",
    "I'll keep the flag because:",
    "**I went with the queue:**",
    "Root Cause",
    "I'll leave it as is.",
    "I'll skip that.",
    // Findings, advice and choices.
    "The root cause was a stale cache.",
    "The real issue was a lock that nobody let go of.",
    "**Cache** — the stale entry turned out to be the cause.",
    "The second finding turned out to be the key to the whole layout.",
    "The link turned out to name a test of the parser.",
    "It turns out that the kiln has two doors, because the shelf is placed between them.",
    "The main way you have is to say it rather than relying on a guess, since nobody reads it.",
    "Whether it is the same for all is worth checking rather than assuming, since there are several.",
    "The first door is open rather than closed, which is what the kiln does today.",
    "The row is left out rather than because somebody forgot it, since it says so.",
    "First design decision: one file for all versus one for each, because both are read.",
    "I will update the ticket, since its stated root cause is now wrong.",
  ])("not: %s", (sentence) => {
    expect(decisionsIn(sentence)).toEqual([])
  })

  test.each([
    // Whole, from where it begins.
    [
      "- **Cache** — I kept the old one, since it is warm.",
      "**Cache** — I kept the old one, since it is warm.",
    ],
    ["3. **Decision:** the lock stays.", "**Decision:** the lock stays."],
    ["> We chose the lock.", "We chose the lock."],
    ["12 workers it is: I chose them over 8.", "12 workers it is: I chose them over 8."],
    [
      "I chose names as e.g. `a b` because they break it.",
      "I chose names as e.g. `a b` because they break it.",
    ],
    [
      "We chose the queue which is held in memory and is emptied\nby the worker because it needs no lock. Then we went on.",
      "We chose the queue which is held in memory and is emptied by the worker because it needs no lock.",
    ],
    // A mark of which the other stands elsewhere.
    ["**I chose the queue. It needs no lock.**", "I chose the queue."],
    ["It is faster. We chose the queue.**", "We chose the queue."],
    [
      "**Use the queue.** I chose it rather than a lock because it is simple.",
      "**Use the queue.** I chose it rather than a lock because it is simple.",
    ],
  ])("%j", (text, sentence) => {
    expect(decisionsIn(text)).toEqual([sentence])
  })
})
