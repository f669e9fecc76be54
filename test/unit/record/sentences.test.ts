import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { factNames, pathsIn } from "../../../src/record/facts.ts"
import { constraintsIn, decisionsIn, refutedIn } from "../../../src/record/noted-sentences.ts"
import { commandPaths } from "../../../src/record/path-words.ts"
import { commandUses, openingOf, simpleCommands } from "../../../src/record/shell-script.ts"
import { CONSTRAINTS, DECISIONS, REFUTED } from "../../fixtures/labelled.ts"

/** Labelled sentences in four languages: how many of those found are right, and how many are found. */
describe("extract languages", () => {
  describe.each([
    ["constraints", constraintsIn, CONSTRAINTS],
    ["decisions", decisionsIn, DECISIONS],
    ["refuted ways", refutedIn, REFUTED],
  ] as const)("%s", (_name, find, languages) => {
    test.each(Object.entries(languages))(
      "%s: precision of 0.9 and recall of 0.8 at least",
      (_language, { yes, no }) => {
        const right = yes.filter((sentence) => find(sentence).length > 0)
        const wrong = no.filter((sentence) => find(sentence).length > 0)
        const missed = yes.filter((sentence) => !right.includes(sentence))
        const precision = right.length / Math.max(1, right.length + wrong.length)
        const recall = right.length / yes.length
        expect({ wrong, missed, enough: precision >= 0.9 && recall >= 0.8 }).toMatchObject({ enough: true })
      },
    )

    test("of many sentences each is judged alone", () => {
      const { yes, no } = languages["Chinese"]!
      expect(find(`${no[3]}${yes[0]}`)).toEqual([yes[0]!])
    })
  })
})

/** Rules, decisions and failed approaches, as people word them. */
describe("extract rules", () => {
  /**
   * Plain rules, decisions and failed approaches were passed over: "No emojis.", "Answer in German.", "dont use semicolons",
   * "请用中文回答。" Besides, an error that the user pasted and a reproach counted as rules.
   */
  describe("rules", () => {
    test.each([
      "Error handling: never swallow one.",
      "Exception: in tests, always use the real loom.",
      "No emojis.",
      "Remember never to force the loom, ok?",
      "No comments in the code, please.",
      "Answer in German.",
      "Instead of axios use fetch.",
      "Stay inside the loom folder.",
      "Do it without adding dependencies.",
      "Under no circumstances delete the pattern.",
      "Never, ever commit the key.",
      "dont use semicolons",
      "Ask me before you install anything.",
      "Hands off the config.",
      "Use 2 spaces for indentation.",
      "Kein Force-Push.",
      "Keine Kommentare im Code.",
      "Commits bitte auf Englisch.",
      "Frag mich, bevor du etwas löschst.",
      "Responde siempre en español.",
      "Nada de emojis.",
      "Evita usar any.",
      "请用中文回答。",
      "只修改loom目录下的文件。",
      "你不能修改数据库。",
      "代码里不要写注释。",
      "统一使用TypeScript。",
      "每次提交前都要跑测试。",
      "不允许使用sudo。",
      "避免使用全局变量。",
    ])("%s", (sentence) => expect(constraintsIn(sentence)).toEqual([sentence]))

    test.each([
      "You never told me.",
      "You never told me, ok?",
      "TypeError: the shuttle must not be null",
      "error TS2322: the thread must not be a number",
      "No new errors.",
      "No more errors now, great.",
      "No comments so far.",
      "No mocks were found in the folder.",
      "Use tabs on the settings page.",
      "Write the letter in German.",
      "Tell me before lunch what came of it.",
      "dont worry about it",
      "I dont know why it stops.",
      "Keine neuen Fehler.",
      "Keine Kommentare gefunden.",
      "Nada de lo que hice ayuda.",
      "Nada de eso.",
      "只改了一行。",
      "每次运行都要等很久。",
      "避免了冲突。",
      "不能修改密码，页面报错。",
    ])("not: %s", (sentence) => expect(constraintsIn(sentence)).toEqual([]))
  })

  describe("decisions", () => {
    test.each([
      "I'll use SQLite because it needs no server.",
      "I switched to fetch because the old client broke.",
      "Let's go with the second loom.",
      "Why I chose the second loom: it is nearer.",
      "Vamos a usar Redis porque es más rápido.",
    ])("%s", (sentence) => expect(decisionsIn(sentence)).toEqual([sentence]))

    test.each([
      "I'll use the loom.",
      "Why I chose the second loom",
      "Should we go with the second loom, because it is nearer?",
      "The bug was caused by a race in the cache.",
      "If the bug was caused by a race, we will see it.",
      "Voy a usar la tabla.",
      "问题的原因是缓存没有刷新。",
      "问题的原因还不清楚。",
    ])("not: %s", (sentence) => expect(decisionsIn(sentence)).toEqual([]))
  })

  describe("failed approaches", () => {
    test.each([
      "Disabling the cache made no difference.",
      "The retry approach failed.",
      "Restarting the server did not fix it.",
      "Increasing the memory doesn't solve the problem.",
      "That change broke the build, so I reverted it.",
    ])("%s", (sentence) => expect(refutedIn(sentence)).toEqual([sentence]))

    test.each([
      "If the approach failed, we would see it.",
      "The request failed.",
      "It broke the thread and I tied it.",
    ])("not: %s", (sentence) => expect(refutedIn(sentence)).toEqual([]))
  })
})

/**
 * What only sounds like a rule or a decision: others' words without quotation marks, orders for the moment, thoughts,
 * habits, cheer, and what was pasted. Beside each, what is one though it looks alike.
 */
describe("extract talk", () => {
  describe("rules", () => {
    test.each([
      "Never oil the loom, the belts slip.",
      "The pattern file is generated, so never edit it.",
      "If you touch the pattern, always weave a sample first.",
      "When you change the loom, don't forget the drawing.",
      "When you rename a thread, always update the drawing.",
      "As I said, never cut the warp.",
      "I told you: never cut the warp!",
      "You are not allowed to use a second loom.",
      "You can't use any dye from the shop.",
      "We can't use copyleft yarn.",
      "Do not touch the original cloth, add this as an appendix.",
      "I don't want to mess with what is woven already.",
      "I don't want any new dye.",
      'Always answer with "yes" or "no".',
      'Never write "TODO" into the pattern.',
      "Keep using wool.",
      'Never say "warp" but "weft".',
      "You have to wear gloves.",
      "I want that you never weave alone.",
      "It is generated, so never edit it.",
      "Make sure to wear gloves.",
      "Make sure the list is updated with every cloth.",
      "The label shouldn't say her name.",
      "I'll bring the yarn myself, so don't ask me for it.",
      "I should be able to open it, while others should only see it.",
      "Read the old pattern too, but always write the new one now, and call it cloth.",
      "Keep everything in one basket.",
      "Must work without electricity, never assume a socket.",
      "All looms must be running before you say it works.",
      "We never weave on the main loom.",
      "You must replace the needle for every cloth.",
      "Do not touch that loom.",
      "Use `linen` instead of `cotton`.",
      "Don't commit anything until I have seen it.",
      "Please never push on your own.",
      "No jargon in the guide, please.",
      "The guide must be readable by a child.",
      "Zu keiner Zeit darfst du den Webstuhl verstellen.",
      "Wenn du das Muster änderst, webe immer zuerst eine Probe.",
      "Wie gesagt: niemals die Kette schneiden.",
      "Verwende niemals Kunstfaser.",
      "Nimm immer Leinen statt Baumwolle.",
    ])("%s", (sentence) => expect(constraintsIn(sentence)).toEqual([sentence]))

    test.each([
      "Don't do that.",
      "please don't touch this",
      "You must move the loom into the hall.",
      // Others' words
      "He told me that we must never oil the loom.",
      "The docs say you should always oil the loom first.",
      "The reviewer wants us to never use linen.",
      "My boss thinks we should not weave at night.",
      "According to the manual you must not open the case.",
      "I read that you should never wash it.",
      "Somebody wrote that one must always start on the left.",
      "The linter complains that names must not begin with a digit.",
      "The old README claims you should always use two threads.",
      "It says here: never open the case.",
      'The sign at the door says "Never enter. Always knock." and that is all.',
      "They recommend to always use wool.",
      "Apparently one must never oil it.",
      "Der Kollege meint, wir dürfen niemals ölen.",
      "Laut Anleitung darf man das Gehäuse nicht öffnen.",
      "Er hat gesagt, wir sollen immer links anfangen.",
      "In der Doku steht, dass man unbedingt ölen muss.",
      // For the moment
      "Don't commit yet.",
      "don't push it for now",
      "Let's not touch the loom right now.",
      "Don't weave anything today.",
      "Don't fix it, just tell me why it stops.",
      "Do not run the loom now, only estimate how long it takes.",
      "Never mind, go on.",
      "Noch nicht committen, bitte nicht jetzt.",
      "Mach das vorerst nicht.",
      // Questions and thoughts
      "I wonder whether we should always oil it",
      "Shouldn't we always oil it first",
      "Don't you think it must always be oiled",
      "Do we always have to oil it",
      "If we never oil the loom, the belts break.",
      "If it must not be oiled then why is there a hole",
      "Imagine we must never stop the loom.",
      "Suppose you always start on the left.",
      "Was wäre, wenn wir niemals ölen.",
      "Falls wir niemals ölen, reißt der Riemen.",
      // Habits and the past
      "We used to always oil the loom on Mondays.",
      "I have always used linen for this.",
      "The old team had never used wool, only linen.",
      "Früher haben wir immer geölt, niemals gefettet.",
      // Impressions and cheer
      "Must be nice to have such a loom.",
      "You must be very tired of this.",
      "That loom must have a lot of stories behind it.",
      "The belt must be using the old wheel.",
      "Don't give up!",
      "Don't hesitate to ask.",
      "Keep pushing.",
      "Good loom, no worries.",
      "Always happy to help.",
      "Never seen such a thing.",
      "Never had a loom before.",
      "They run all day and always stop at night.",
      "It starts well and always stops at night.",
      "We can always go back to linen.",
      "We can't reproduce it.",
      "That makes it sturdy and avoids gluing.",
      "You didn't look where it needs to be oiled.",
      "You should have never oiled it.",
      "In the dark, I must be led by hand.",
      "A drop is enough as soon as we don't weave.",
      "It hangs there so that we don't trip.",
      "Use of the old loom is not an option.",
      "Say which loom is in use, and why it stops instead of turning.",
      "Make sure to put the cloth into the basket.",
      "Make sure the label is updated accordingly.",
      "Don't touch the loom yet, and tell me when you are done.",
      "Tell me which belt needs to be oiled.",
      "Show me how to clean it without scratching it.",
      "We will oil it more often going forward.",
      "The loom needs to be a bit quieter.",
      "Change the pattern to only show the seams.",
      "Delete the cloth, don't fold it.",
      "Don't mend anything, just verify that it runs.",
      "Some belts may not apply here.",
      "If it fits, then let's not spend too much time on it.",
      "Love how you never lose the thread.",
      // Headings, announcements, pastes
      "## Never oil the loom",
      "You must always do the following:",
      "-- never oil the loom",
      "hint: you must never oil the loom",
      "warning: the belt must not be oiled",
      "loom.py:12:3: the belt must not be oiled",
      "diff --git a/loom b/loom\n@@ -1 +1 @@\n-Always oil it.\n+Never oil it.",
      'the line "never oil the loom" is not translated',
      "the type is `never` and always was",
    ])("not: %s", (text) => expect(constraintsIn(text)).toEqual([]))
  })

  test("words in quotation marks do not separate sentences, and stay as they are", () => {
    expect(constraintsIn('Call it "warp" first. Then never call it "weft" again.')).toEqual([
      'Then never call it "weft" again.',
    ])
    expect(constraintsIn('Never say "Weave. Cut." to a child.')).toEqual(['Never say "…" to a child.'])
  })

  describe("decisions", () => {
    test.each([
      "Linen it is.",
      "**Wool it is** — it needs no dye.",
      "So linen it is, then.",
      "We settled on linen for the warp.",
      "I've landed on linen for the warp.",
      "I'm going to use linen instead of wool.",
      "I opted for linen.",
      "Opted for linen over wool.",
      "I'm replacing the belt rather than gluing it, so nothing tears.",
      "I’m patching the old cloth instead of weaving a new one.",
      "I left the other seams alone — they hold without glue.",
      "I deliberately left the third seam open.",
      "I rejected the glue because it yellows.",
      "We ruled out glue.",
      "I'm declining the third remark: the seam is meant to be open.",
      "I'll remove the outer seam but keep the inner one.",
      "I used linen, not wool, for the warp.",
      "Verdict: keep the seam open.",
      "The plan is to use linen and skip the dye.",
      "Dann also Leinen.",
      "Dann nehmen wir Leinen.",
      "Wir nehmen also Leinen für die Kette.",
      "Damit bleibt es bei Leinen für die Kette.",
      "Ich habe mich auf Leinen festgelegt.",
      "Wir verzichten auf Kleber.",
    ])("%s", (sentence) => expect(decisionsIn(sentence)).toEqual([sentence]))

    test.each([
      "That is what it is.",
      "I left it as it is and that is how it is.",
      "I also picked up new yarn.",
      "Picked up where we left off.",
      "I'll wait for the loom to stop rather than poll it.",
      "I'll use grep instead of reading the whole file.",
      "I'm checking the seam itself rather than guessing.",
      "The author decided to use linen.",
      "The reviewer said we should go with linen.",
      "The docs say they chose linen because it is strong.",
      "If we went with linen, I'd use glue instead of thread.",
      "I would keep the seam open because it breathes.",
      "I'd go with linen rather than wool.",
      "We could go with linen instead of wool.",
      "Here it is.",
      "Linen is probably best, so I'd use it instead of wool.",
      "I'll use linen or keep wool, since both hold.",
      "If I switch from wool to linen, the seam holds.",
      "Used by the loom to tell what is new since the last cloth.",
      "The weaver is saying that we went with linen rather than wool.",
      "There are seams where we deliberately leave a gap.",
      "Of course it is.",
      "The issue is that we're using wool instead of linen.",
      "I'm weighing the yarn next rather than waiting.",
      "I added a knot, so it now holds instead of slipping.",
      "I added a note: this is a real change, not a small one.",
      "I'll summarize the seams rather than show each.",
      "That's the reason I'm replacing it rather than waiting.",
      "The upstream project switched from wool to linen.",
      "You chose linen rather than wool.",
      "The plan is to look at the seam first.",
      "Ich nehme an, dass der Riemen reißt.",
      "Wir könnten Leinen nehmen statt Wolle.",
      "Ich würde Leinen nehmen, weil es hält.",
      "Der Autor hat sich für Leinen entschieden.",
      "Dann nehmen wir mal an, es hält.",
    ])("not: %s", (sentence) => expect(decisionsIn(sentence)).toEqual([]))
  })

  test("a line that ends within a sentence continues on the next one, which may begin with a capital", () => {
    const hard = "Before the first cloth of the day is woven, never forget the\nJacquard cards in their box."
    expect(constraintsIn(hard)).toEqual([hard.replace("\n", " ")])
    const apart =
      "Before the first cloth of the day is woven, never forget wool\nJacquard cards are in their box."
    expect(constraintsIn(apart)).toEqual([apart.split("\n")[0] ?? ""])
  })
})

describe("facts", () => {
  describe("names", () => {
    test.each([
      ["call retryAfter() in HttpClient", ["retryAfter", "HttpClient"]],
      ["MAX_DELAY and read_header, twice: MAX_DELAY", ["MAX_DELAY", "read_header"]],
      ["plain Words, in a Sentence. One two.", []],
      ["toolu_01AbCdEf23456789 and msg_9f8e7d6c5b4a", []],
      ["größeÄndern ist kein Name hier", []],
      [
        "run `retry-after-tests` on `client.config`, see `mise.toml`",
        ["retry-after-tests", "client.config", "mise.toml"],
      ],
      ["/tmp/ledger-uMsnMz/a.txt and org_ledger-image_2026 but ledgerOf", ["ledgerOf"]],
      ["a read-only client.config, `plain` and `-x` and `3.14` and `a b-c`", []],
      ["`retryAfter()` twice: retryAfter", ["retryAfter"]],
      // Escapes of a string within what a tool is given; names of files on Windows begin behind a backslash, too.
      ['"## Ledger\\nWhen it is asked\\tUnder nothing", C:\\src\\newLedger\\nodeOf', ["newLedger", "nodeOf"]],
      ["$nodeOf, node$Of, nodeOf$, $ nodeIn and {nodeAt}", ["nodeIn", "nodeAt"]],
      ["pre-nodeOf, nodeOf-post, -nodeIn, nodeAt- and größenOf", ["nodeIn", "nodeAt"]],
      [
        "__init__, _private_of, 1st_node, a_, _b, __, HTTP, IDs, useHTTP, H2Server",
        ["_private_of", "useHTTP", "H2Server"],
      ],
      ["WebFetch of `docs.ledger.com`, which is in_progress on GitHub: see ledgerOf", ["ledgerOf"]],
    ])("%s", (text, names) => expect(factNames(text)).toEqual(names as string[]))

    test("of a whole file only its head, and not without end", () => {
      const many = Array.from(
        { length: 3000 },
        (_, n) => `name${String.fromCharCode(65 + (n % 26))}${"x".repeat(n % 40)}`,
      )
      expect(factNames(many.join(" ")).length).toBeLessThanOrEqual(120)
      expect(factNames(`${" ".repeat(30_000)}lateName`)).toEqual([])
    })
  })

  describe("paths", () => {
    test.each([
      ["see `src/client.ts:12` and (test/client.test.ts).", ["src/client.ts", "test/client.test.ts"]],
      ["either/or, 1/2, http://example.com/a.html, client.ts", ["client.ts"]],
      ["edit main.go, then `kiln_test.py`: see go.mod:3.", ["main.go", "kiln_test.py", "go.mod"]],
      ["Node.js reads process.env, calls response.json() and console.log; v1.c.d, a@b.md, e.g. this", []],
      ["~/notes/today.md, ./a/b.json!", ["~/notes/today.md", "./a/b.json"]],
      [
        '"$ROOT"/hooks/ask.sh, {{root}}/docs/a.md, <folder>/src/b.ts',
        ["hooks/ask.sh", "docs/a.md", "src/b.ts"],
      ],
      ['"/etc/a.conf" >/tmp/b.log (/srv/c.md)', ["/etc/a.conf", "/tmp/b.log", "/srv/c.md"]],
    ])("%s", (text, paths) => expect(pathsIn(text)).toEqual(paths as string[]))

    test("are the same beside what looks like a drive, which has words without a slash looked at", () => {
      const piece = fc.constantFrom(
        ..." \n\u00a0\"'`<>()[]{}|,;/\\:.~é",
        ..."src/a.ts door.md https://kiln.test/b.js $ROOT } C:".split(" "),
      )
      fc.assert(
        fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
          const text = pieces.join("")
          expect(pathsIn(text)).toEqual(pathsIn(`${text} :\\`))
        }),
        { numRuns: 3000 },
      )
    })
  })

  describe("commands", () => {
    test("the first of each pipeline, and the line it stood in", () => {
      expect(commandUses("cd app && npm test 2>&1 | tail -20; git status --short")).toEqual([
        { command: "npm test", line: "npm test 2>&1 | tail -20" },
        { command: "git status --short", line: "git status --short" },
      ])
    })

    test.each([
      ['git commit -m "a; b && c | d" > /dev/null', ['git commit -m "a; b && c | d"']],
      ["npm run build \\\n  --fast", ["npm run build --fast"]],
      ['python3 -c "\nimport os\nprint(os.name)\n"', []],
      ["cat > f.txt <<'EOF'\nnpm run nothing\nEOF", []],
      ["for f in a b; do\n  echo $f\ndone", []],
      ["DEBUG=1 npm test", []],
      ["(cd app && npm test -- retry)", ["npm test -- retry"]],
      ["(source env && ((cd app && npm test 2>&1 | tail -3)))", ["npm test"]],
      ['git log --since="$(date -d (now))" && echo $(ls app)', ['git log --since="$(date -d (now))"']],
      ["grep -rn 'a)' src", ["grep -rn 'a)' src"]],
      ["ls", []],
      ["echo 'half a quote && npm test", []],
      ['cat "$f"; mkdir -p $D; "$TOOL" -p a.ts; cp -r "$a" "$b"', []],
      ['gh pr view "$n" --json state', ['gh pr view "$n" --json state']],
    ])("%j", (script, commands) => expect(simpleCommands(script)).toEqual(commands as string[]))

    test("a here-document is told by the line that begins it", () => {
      expect(commandUses("python3 - <<'EOF'\nprint(1)\nEOF")).toEqual([
        { command: "python3 -", line: "python3 - <<'EOF'" },
      ])
    })

    test.each([
      ["cd /srv/app\nnpm test", "cd /srv/app"],
      ["cd app  &&  npm test", "cd app && npm test"],
      ["DEBUG=1 npm test", "DEBUG=1 npm test"],
      ["\nR=org/repo\ngh pr view", "R=org/repo"],
      ["# why\nnpm test", undefined],
      ["for f in a b; do\n  wc $f\ndone", undefined],
      ["echo done; npm test", undefined],
      ["npm run build \\\n  --fast", undefined],
      ["make", undefined],
      ["run() {\n  make all\n}\nrun", undefined],
      ['say-it () { echo "$1"; }', undefined],
      ['cat "$f"\nnpm test', undefined],
      [`npm run ${"x".repeat(200)}`, `npm run ${"x".repeat(152)}`],
    ])("opening of %j", (script, opening) => expect(openingOf(script)).toBe(opening))
  })

  /**
   * In the comment of a script, an apostrophe was taken for the beginning of a quotation: of the commands and files behind
   * it, none was found.
   */
  describe("comments in scripts", () => {
    const SCRIPTS: [script: string, commands: string[], paths: string[]][] = [
      [
        "# Let's see\nnpm test --silent\ncat src/loom.ts",
        ["npm test --silent", "cat src/loom.ts"],
        ["src/loom.ts"],
      ],
      [
        "npm run build # don't wait\nwc -l src/shuttle.ts",
        ["npm run build", "wc -l src/shuttle.ts"],
        ["src/shuttle.ts"],
      ],
      [
        "npm test --silent;# see docs/loom.md, <<OLD\ngit status -s",
        ["npm test --silent", "git status -s"],
        [],
      ],
      ["(# it's one\ncd app && sort a.txt)", ["sort a.txt"], ["a.txt"]],
    ]

    test.each(SCRIPTS)("%j", (script, commands, paths) => {
      expect(simpleCommands(script)).toEqual(commands)
      expect(commandPaths(script)).toEqual(paths)
    })

    test("what is no comment stays", () => {
      const script = `git commit -m "it's #3" && run a#b $# 'c # d' && cat src/loom.ts#L3 \\# src/felt.ts`
      expect(simpleCommands(script)).toEqual([
        `git commit -m "it's #3"`,
        "run a#b $# 'c # d'",
        "cat src/loom.ts#L3 \\# src/felt.ts",
      ])
      expect(commandPaths(script)).toEqual(["src/felt.ts"])
    })
  })
})
