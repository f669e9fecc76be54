/**
 * Wordings of rules: what a human tells the model to do or not to do for good. A report that something always fails or
 * must be a mistake uses the same words; the difference is whether they address the model. Pure.
 */
import { once } from "../base/once.ts"
import {
  begins,
  reportedInEnglish,
  reportedInGerman,
  SMALL_WORDS,
  type Wording,
  type Wordings,
  wholeWords,
} from "./wording.ts"

/** Where an order may begin within a sentence: not in a clause that gives a reason or a condition. */
const ORDER = String.raw`(?:^|[,;:–—-]\s*|\b(?:please|and|but|so|then|also)\s+|(?<!\b(?:if|because|since|as|when|where|while|so that|so|cos|cause|case|what|how|why|which|who) )\b(?:you|we)\s+)`

const NO_NEW = String.raw`no (?:new|more|extra|other|additional|external|third-party)(?! (?:errors?|warnings?|issues?|problems?|failures?|messages?|results?|changes?)(?!\p{L}))`

/** What we cannot do is a rule if it is something one could do all the same: "we can't find it" is none. */
const COULD =
  "use|add|change|break|ship|rely|depend|drop|remove|store|log|commit|push|touch|modify|call|expose|allow|afford|have"

/** Orders for the moment, which bind nobody later. */
const FOR_NOW: readonly RegExp[] = [
  /\b(?:for now|for the (?:moment|time being)|right now|just (?:this )?once|at the moment)\b|\byet[,;]|\b(?:do not|don['’]?t|not)\b.*\bnow[,;]/i,
  /(?<!\bfrom )\b(?:yet|now|today|tonight|tomorrow|this time)[.!]*$/i,
  /\b(?:do not|don['’]?t)\b.*[,;–—-] ?(?:but )?(?:just|only|simply) (?:tell|show|explain|list|answer|estimate|check|look|give|describe|review|read|research|investigate|plan|report|say|name|find|think|propose|suggest|validate|verify|test|confirm)\b/i,
  /^(?:delete|remove|rename|move|revert|restart|rerun|close|merge|copy|drop)\b.*, (?:do not|don['’]?t) \w+(?: (?:it|them|that))?[.!]*$/i,
  // What is to be done once, told as how it ought to be.
  /^(?:adjust|change|modify|update|refactor|rewrite|fix|edit)\b.*\bto (?:only|always|never)\b/i,
  /\b(?:you|we) must (?:\w+ly )?(?:delete|move|rename|replace|construct|generate)\b(?!.*\b(?:each|every|always|whenever)\b)/i,
  // What is to be done in this step alone.
  /^(?:(?:please|and|but|so|ok|okay|for this)[,:]? )*(?:only|just) (?:do|fix|implement|answer|explain|show|give|tell|reply|review|check|look|list|apply|finish|commit|push|merge|run|reword|rename|start|continue|update|add|create|draft|propose|plan|summari[sz]e|describe) (?:the|this|that|these|those|it|them|me|us|an?|one|step|part|point|option|number|\d)\b/i,
  /\b(?:in|for|with) (?:this|the next|your next) (?:step|turn|round|pass|reply|answer|message|response|iteration|commit)\b|\bbefore (?:we|you|I) (?:continue|proceed|go on|move on|start)\b/i,
  /\b(?:should|will|would) only (?:take|cost|need|happen|matter)\b/i,
  // What ends a task, and is then done: "Make sure the tests pass and commit." Of every one it is a rule.
  /^(?:(?:please|and|but|so|then|also|now|ok|okay)[,:]? )*(?:make sure|ensure|be sure|(?:you|we) (?:must|have to|should))\b(?!.*\b(?:each|every|any|always|never|only|not|whenever|when|before|after|while|without)\b)(?: (?:to|you|we))?(?: .*(?:[,;&]|\band|\bthen))? (?:commit|push|merge|deploy|release|publish|restart|rerun)(?: (?:it|this|that|them|all|everything|now|again|(?:the|your) \w+))*[.!]*$/i,
  // What it points at is forgotten by then.
  /^(?:(?:please|and|but|so) )?(?:do not|don['’]?t) \w+ (?:this|that|it|these|those)[.!]*$/i,
  /\b(?:make sure|ensure)\b(?!.*\b(?:each|every|always|whenever)\b).*\b(?:is|are|gets?) (?:updated|fixed|added|created|linked|listed|committed|merged|pushed|deployed)\b/i,
]

/** Thoughts, habits, impressions and cheer, in the words of rules. */
const TALK: readonly RegExp[] = [
  /^(?:i wonder|i['’]m (?:wondering|not sure)|not sure|i (?:guess|assume|suppose)|suppose|imagine|which\b|don['’]?t (?:you (?!ever|dare)|we\b|they\b)|(?:do|have) (?:you|we|i|they)\b|(?:(?:did|should|could|would|wo|is|are|does)n['’]?t|was|were|shall) (?:you|we|i|they|it|the|this|that|there)\b)/i,
  /^(?:if|assuming)(?: that)? (?:we|i|they|you|it|he|she|this|that|the \w+)(?: \w+)? (?:never|always|only|must|should|shouldn['’]?t|mustn['’]?t|do not|don['’]?t|cannot|can['’]?t)\b/i,
  /(?<!\b(?:be|is|are|was|were|get|gets) )\bused to\b|(?:\b(?:have|has|had)|['’](?:ve|d)) (?:always|never|only)\b/i,
  /\bmust (?:be|feel|look|seem|have (?:been|felt)) (?:so|such|very|really|quite|pretty|hard|tough|nice|great|awesome|amazing|incredible|exciting|fun|cool|scary|frustrating|annoying)\b/i,
  /\bmust be (?!passing\b|working\b|running\b|string\b)\w+ing\b|\byou must (?:love|feel|know)\b|\bmust have (?:a lot|lots|so|such)\b/i,
  /\b(?:do not|don['’]?t) (?:ever )?(?:be (?:afraid|scared|shy)|hesitate|give up|quit|forget (?:that|they|you|he|she|it)\b|panic|sweat|apologi[sz]e|get me wrong|hold back|stop (?:dreaming|believing)|let (?:it|that|them|anything) (?:get|stop|bring|down))\b/i,
  /\b(?:never (?:give up|quit)|you never know|keep \w+ posted)\b|\bno (?:worries|problems?|prob|doubts?|rush|hurry)\b/i,
  // "Always happy to help", "Never seen such a thing"
  /(?:^|[,;:] ?|\b(?:and|but) )(?:always|never) (?!embed|shed)(?:here|there|up for|been|had|seen|heard|thought|knew|felt|happy|glad|fun|nice|good|great|\p{L}*[^e\s]ed)(?!\p{L})/iu,
  // "… and always stops at night"
  /\b(?:and|but|then|also) (?:always|never) (?!focus|alias)\w*[^s\W]s\b|^(?:they|these|those|i)\b.*\b(?:and|but|also) (?:always|never)\b|\bhow (?:you|we) (?:always|never)\b/i,
  /^(?:[-–] ?)?(?:but )?(?:I|we)(?:['’]ll| will)\b(?! (?:never|always|only|not)\b)(?!.*\b(?:so|but) (?:please )?(?:never|always|do not|don['’]?t)\b)|(?:^|[,;] )I (?:must|shall|may|only)\b/i,
  /^(?:tell|show|ask) me (?:what|which|how|why|where|whether|if)\b|\bneeds to be (?:a (?:bit|little)|much|more|better|nicer)\b/i,
  // Reproaches
  /^you (?:did|had|were|was|forgot|broke|should have|have(?:n['’]?t| not|(?! to\b) \w+)|\p{L}+ed)(?:n['’]?t)?(?!\p{L})/iu,
  /\bI (?:do not|don['’]?t) want to (?:sound|seem|bother|let|waste|miss|lose|interrupt|wait|spend)\b/i,
]

const english = (): Wording => ({
  smallWords: SMALL_WORDS.english,
  yes: [
    new RegExp(`${ORDER}(?:never|always),?\\s+\\w`, "i"),
    /\b(?:(?:must|should|shall|may|to)\s+(?:never|always|only)|can\s+(?:never|only))\b/i,
    new RegExp(`${ORDER}(?:(?:do not|don['’]?t|avoid)\\b|stop (?=\\w+ing))\\s*\\w+`, "i"),
    /\bI (?:do not|don['’]?t) want\b/i,
    /^(?!(?:it|this|that|there|he|she|i|something)\b).*\b(?:must|must not|mustn['’]t|shall|should not|shouldn['’]t|may not(?= (?:contain|import|depend|exceed|access|touch|use)\b)|(?:has|needs) to (?=(?:be|stay|remain|keep|support)\b))\s*\w+/i,
    /\b(?:it|this|that|there) must (?:not|never|work|stay|keep|run|support|remain)\b/i,
    /\bshould (?:(?:stay|remain)\b|be (?:kept|limited|scoped|left)\b|.{2,60}\bonly[.!]?$)/i,
    /^(?:the |all |your |our |any )?(?:(?:code )?comments?|code|commits?|commit messages|names|docs|answers|replies|messages|PRs)(?: \w+){0,3} should (?:always )?be\b/i,
    /\b(?:you (?:cannot|can['’]t)|(?:you|we) mustn['’]t)\s+\w+|\byou have to\b/i,
    new RegExp(String.raw`\bwe (?:cannot|can['’]t) (?:${COULD})\b`, "i"),
    begins(
      "only (?!(?:one|two|three|four|a|an|the|this|that|these|those|some|when|if|after|because|on|in|at|\\d)(?!\\p{L}))\\p{L}+",
    ),
    begins(
      "(?:make sure|ensure)(?! (?:it|that|this|you|we)(?:['’](?:s|ve|re)| is| has| have| are)(?!\\p{L}))(?! to (?:put|create|save|upload|send|start)(?!\\p{L}))|be sure to|remember (?:to|never|not|always)|stick (?:to|with)|prefer|leave (?!(?:me |us )?an? (?:short )?(?:note|comment|message|remark|hint)\\b).{1,60}(?:alone|as (?:it )?is|as they are|untouched|unchanged)",
      "keep (?!it up|on|in|an|me|up|(?!using|running|logging|writing|existing|everything|anything|remaining)\\p{L}+ing(?!\\p{L}))\\p{L}+",
      "stay (?:inside|within|out of|away from)|hands off|instead of .{2,60}\\buse",
      "(?:ask|check with|confirm with) (?:me |us )?(?:first,? )?before",
      "(?:answer|reply|respond)(?: \\w+){0,4} in (?:english|german|spanish|french|chinese)",
      "use (?:(?:\\d|two|four) spaces|(?:single|double) quotes|(?:camel|snake|kebab|pascal|lower|upper)[ _-]?case)",
    ),
    /(?<!\b(?:will|would|can|could|might|in|the|of|its|no|for) )\buse\b(?:(?! (?:is|are|was|were)\b).){2,80}\b(?:not|instead of|rather than|never|over)\b/i,
    /^(?:please\s+)?(?:do|fix|solve|implement|write|build|make)\b.*\bwithout \w+ing\b/i,
    /^(?:please\s+)?(?:write|put|call|run|return|make|do|go|pick|choose|take|store|read|build|let['’]s|i want|i['’]d like|we should|it should)\b.*\b(?:instead of|rather than)\b/i,
    /\b(?:from now on|going forward|under no circumstances|I(?:['’]d| would)? prefer|(?:is|are|you['’]re) (?:not allowed|forbidden|off[ -]limits|mandatory))\b/i,
    // "… , no Latin, no rhymes", but not of what there is.
    /^(?!.*\b(?:there|is|are|was|were|got|gets?|sees?|has|have|had|shows?|still|with|tried)\b).*[,;:]\s+no (?!(?:errors?|warnings?|issues?|problems?|failures?|changes?|results?|messages?|idea|need|worries|luck|matter|longer|one|thanks|not|wait|output|logs?)\b)\p{L}+(?: \p{L}+)?(?:[,.;]|$)/iu,
    /\blet['’]s not (?!worry|bother|spend|waste|get\b)\w+/i,
    /\b(?:we|you) should (?:first|follow|stick|keep)\b/i,
    begins(
      NO_NEW,
      "no .{2,60},? please",
      "no (?:comments|emojis?|mocks?|semicolons|abbreviations|placeholders|workarounds|force[- ]push(?:es|ing)?)(?! (?:are|is|was|were|there|found|yet|so far|needed|left)(?!\\p{L}))",
    ),
  ],
  no: [
    /\?\s*$|^\s*(?:why|what|how|when|where|who|is|are|does|did|can|could|should|would)\b/i,
    /^(?:i|it|he|she|they|this|that) (?:always|only|never)\b/i,
    /^(?:we|you) (?:always|only|never) (?:\w+ed|had|were|was|got|saw|did|went|knew|said|told|made|gave|ran|wrote)\b/i,
    /\bmust (?:have \w+(?:ed|en|ne|nt|st)\b|have (?:gone|lost|had)\b|be (?:the|a|an|some|my|your|because|due|caused|wrong|mistaken|something|kidding|joking)\b)/i,
    /\b(?:do not|don['’]?t) (?:think|worry|know|see|understand|care|mind|need|remember|have|get|believe|exist|work)\b/i,
    /\bnever mind\b/i,
    /\bshould(?: not|n['’]t) (?:happen|occur|matter|be (?:possible|necessary|needed|a problem))\b/i,
    // What reviewers, documents and reports say of a thing.
    /^(?:consider|while|although|currently|previously|note that|looking at|without this)\b|\bwould (?:be|also|not)\b|\btry again\b|\b(?:maybe|perhaps)\b/i,
    /^(?:this|that|it|which|these)\b.*\bto (?:always|never|only)\b|^if (?:the|a|an|it|this)\b.*\bthen\b/i,
    // Pasted output of programs.
    /^(?:[\w.]*error|[\w.]+exception|fatal)(?:\[\w+\]| [A-Z]{0,4}\d+)?:/i,
    /^please make sure you have the correct access rights\b/i,
    ...FOR_NOW,
    ...TALK,
    ...reportedInEnglish,
  ],
})

const german = (): Wording => ({
  smallWords: SMALL_WORDS.german,
  yes: [
    wholeWords(
      "niemals|nie wieder|keinesfalls|auf keinen Fall|unter keinen Umständen|unbedingt|ausschließlich",
      "ab (?:jetzt|sofort)|von nun an|künftig|in Zukunft|stell(?:e|t)? sicher",
      "bitte (?:nicht|nur|keine?n?|nie|immer|erst|auf (?:Deutsch|Englisch))|darf(?:st)? (?:nicht|nie|keine?n?)|dürfen (?:nicht|nie|keine?n?)",
    ),
    begins(
      "(?:verwende|benutze|nutze|nimm|halte?|fass|rühr|ändere|lösche|schreib|schreibe|antworte|führe?|mach|mache|füge?|setze?|teste?|lies|baue?|committe?|pushe?) .{1,80}(?:nicht|nie|keine?n?|nur|immer|stets|statt|anstatt|anstelle|zuerst)",
      "(?:verwende|benutze|nutze|nimm|lösche|pushe?|ändere|schreibe?) (?:nicht|nie|keine?n?|nur|immer|stets)",
      "achte? (?:darauf|auf)|denk(?:e)? daran|vergiss nicht|vermeide?|behalte?|bleib(?:e)? bei|beschränke? dich|lass(?:e)? .{1,60}(?:in Ruhe|so|wie|unverändert)",
      "(?!die|eine|diese|alle|meine|heute|beide|manche|jede|gestern|morgen)\\p{L}+e (?:nie|niemals|nichts|keine?n?|nur|immer|stets)",
      "frag(?:e)? (?:mich |uns )?(?:erst|immer|vorher|zuerst)|frag(?:e)? (?:mich|uns),? bevor",
      "antworte (?:\\p{L}+ ){0,4}auf (?:Deutsch|Englisch)",
      "wir (?:verwenden|nutzen|benutzen) .{1,60}(?:statt|anstatt|anstelle|nur|nie|keine?n?)",
      "(?:nie|immer|stets|nur) .{2,80}\\p{L}+en",
      "keine? (?:neue|weitere|zusätzliche|externe|andere)[nrs]?(?! (?:Fehler|Warnungen|Meldungen|Probleme|Ergebnisse)(?!\\p{L}))",
      "keine? (?:Kommentare|Emojis?|Mocks|Semikolons|Abkürzungen|Platzhalter|Workarounds|Force-Push(?:es)?)(?!\\p{L})(?! (?:sind|ist|war|waren|mehr|gefunden|vorhanden)(?!\\p{L}))",
    ),
    /^(?!(?:das|dies|es|ich|er|sie|da|hier|dort)(?!\p{L})).*(?<!\p{L})(?:müssen|muss|musst|sollen|sollst|darfst)(?!\p{L})/iu,
    wholeWords("keine? .{1,60},? bitte"),
  ],
  no: [
    /\?\s*$|^(?:warum|wieso|wie(?! gesagt)|was|wann|wer|wo|ich|es|früher|damals|bisher|bislang)(?!\p{L})/iu,
    /(?<!\p{L})(?:vorerst|vorläufig|fürs Erste|im Moment|momentan)(?!\p{L})|(?<!\p{L}|ab )(?:jetzt|heute|noch nicht)[.!]*$|^noch nicht/iu,
    /^(?:das|dies|da|es) (?:muss|darf|kann|soll)(?!\p{L})/iu,
    /^(?:bitte |mach(?:e)? )*nur (?:den|die|das|diese\p{L}*|eine?n?) .{2,60}(?:machen|zeigen|erklären|prüfen|ansehen|beantworten)[.!]*$|^mache? (?:bitte )?nur (?:den|die|das|diese\p{L}*)(?!\p{L})/iu,
    /(?<!\p{L})(?:muss|müssen) .*(?:\s(?:ge|über|ver|be|er)\p{Ll}+(?:t|en) haben|worden sein|gewesen sein|liegen|stecken)[.!]?$/u,
    ...reportedInGerman,
  ],
})

/** Verb forms that look like orders but belong to reports. */
const NO_ORDER =
  "es|eres|has|vas|puedes|sabes|tienes|quieres|crees|ves|das|mas|worries|pues|estás|haces|dices|entiendes"

const spanish = (): Wording => ({
  smallWords: SMALL_WORDS.spanish,
  yes: [
    new RegExp(
      String.raw`(?:^|[,;:]\s*|(?<!\p{L})(?:y|pero|favor,?)\s+)(?:no|nunca|jamás)\s+(?:(?:me|te|le|lo|la|los|las|se)\s+)?(?!(?:${NO_ORDER})(?!\p{L}))\p{L}+(?:as|es)(?!\p{L})`,
      "iu",
    ),
    begins("siempre (?:usa|utiliza|ejecuta|escribe|responde|haz|pon|revisa|prueba|comprueba|pregunta|que)"),
    begins("(?!falla|ocurre|pasa|sale|está|responde|tarda|vuelve)\\p{L}{2,}(?:a|e|z|n|me|lo|la) siempre"),
    begins(
      "asegúrate|recuerda(?: que)?|evita|mantén|conserva|respeta|prefiere|limítate|procura|deja .{1,60}(?:como está|intact[oa]s?)",
      "(?:usa|utiliza|emplea|usamos|utilizamos|escribe|pon|haz|quiero|devuelve|llama) .{0,60}(?:solo|sólo|únicamente|siempre|nunca|en lugar de|en vez de)",
      "(?:usa|utiliza|emplea|cambia|toca|modifica) (?:solo|sólo|únicamente)",
      "sin (?:\\p{L}+ )?(?:nuev|adicional|extern)\\p{L}+|nada de (?!eso|esto|ello|l[aoe]s?|el|nada)\\p{L}+",
      "(?:responde|contesta)(?: \\p{L}+){0,4} en (?:español|inglés)",
    ),
    /^(?!(?:eso|esto|ello|debe|deben|debí)(?!\p{L})).*(?<!\p{L})(?:debes?|deben|tienes? que|tienen que|hay que)(?!\p{L})(?! de (?:ser|haber|estar))/iu,
    wholeWords(
      "no deb(?:es|e|en)|a partir de ahora|de ahora en adelante|bajo ningún concepto|en ningún caso|(?:está|queda) prohibido",
    ),
  ],
  no: [
    /\?\s*$|^¿|^(?:por qué|cómo|qué|cuándo|yo)(?!\p{L})/iu,
    /(?<!\p{L})debe[ns]? de (?:ser|haber|estar)(?!\p{L})/iu,
  ],
})

const french = (): Wording => ({
  smallWords: /\b(?:jamais|toujours|sempre)\b/i,
  yes: [wholeWords("jamais|toujours|sempre")],
  no: [/\?\s*$/],
})

const chinese = (): Wording => ({
  smallWords: SMALL_WORDS.any,
  yes: [
    /(?:^|[，,；;：:、。\s]|请|就|也|都|你|里|中|绝对|千万|以后|意)(?:不要|别再|别|勿|切勿|不许|不准)(?!紧|担心|人|的|名|处)/,
    /请勿|禁止|不得|严禁|千万别|绝不(?:能|要|可)?|永远不(?:要|能)?|務必|务必|一律|しないで|絶対に/,
    /必须|一定要|只能|只用|只(?:修)?改(?!了)|只允许|仅限|仅使用|始终(?!没|无)|请保持|保持.{1,20}不变/,
    /(?:从现在起|从现在开始|从今以后|以后|今后|往后).{0,12}(?:都|要|请|用|不|先)/,
    /(?:用|使用|采用|写成|改成).{1,30}(?:而不是|而非|不要用|代替)/,
    /从现在(?:起|开始)|统一(?:使用|用|采用)|每次.{1,10}前.{0,6}(?:都要|都得|先|必须)/,
    /(?:^|[，,；;])(?:请|尽量)?(?:避免(?!了)|用(?:简体)?(?:中文|英文|英语)(?:回答|回复|注释))/,
    /(?:^|[，,；;]|你|绝对)(?:不允许|不可以)(?:使用|用|修改|改|删除|提交|推送|引入|添加)|(?:你|绝对)不能/,
  ],
  no: [/[？?]\s*$|吗[。！]?$|不要紧|不要担心|为什么|^(?:我|它)(?:总|一直|始终|必须|只能)/],
})

export const constraints = once(
  (): Wordings => ({ chinese: chinese(), latin: [english(), german(), spanish(), french()] }),
)
