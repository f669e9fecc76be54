/** Texts that want to be more than text in a page: whoever shows one unescaped runs it. */

const SCRIPT = "window.__pwned = 1"

export const HOSTILE: readonly string[] = [
  `<script>${SCRIPT}</script>`,
  `</script><script>${SCRIPT}</script>`,
  `</style><img src=x onerror="${SCRIPT}">`,
  `"><svg onload="${SCRIPT}">`,
  `<iframe srcdoc="<script>parent.${SCRIPT}</script>"></iframe>`,
  `<meta http-equiv="refresh" content="0;url=javascript:${SCRIPT}">`,
  `<a href="javascript:${SCRIPT}">a</a> [b](javascript:${encodeURI(SCRIPT)}) [c](java&#115;cript:alert) [d](data:text/html,x)`,
  `![e](http://192.0.2.1/tracked.png) <img src="http://192.0.2.1/tracked.png"> [f](file:///etc/passwd)`,
  "[g](<javascript:alert(1)>) <javascript:alert(1)> [h]: javascript:x\n\n[h]",
  `[i](https://example.com/"onmouseover="${SCRIPT}) [j](https://example.com "t\\" onclick=x")`,
  '```"><script>\nx\n```\n\n~~~js onload="x"\ny',
  `<!--><img src=x onerror=${SCRIPT}>--> <![CDATA[<script>]]> <?xml?>`,
  `<details open ontoggle="${SCRIPT}">`,
  `&lt;script&gt;${SCRIPT}&lt;/script&gt; &#60;script>`,
  `\u001b]8;;javascript:${SCRIPT}\u0007link\u001b]8;;\u0007 \u001b[2J\u001b[31mred\u001b[0m \u009b31m`,
  "\u202egnp.exe\u202c \u2066hidden\u2069 \u200f\u061c",
  "&#x202e;gnp.exe&#x202c; &rlm;*&#x2066;hidden&#8297;* &#27;[31mred &#155;2J",
  "{{constructor.constructor('alert(1)')()}} `",
  "<template><b></template></main></body></html>",
  "\u0000\u0007\b\r\rover\rwritten \ud83d lone",
  `${"> ".repeat(3000)}deep`,
  `${"- ".repeat(500)}deep\n${" ".repeat(900)}- x`,
  `|${"a|".repeat(200)}\n|${"-|".repeat(200)}\n${"|x|\n".repeat(50)}`,
  `${"*a ".repeat(2000)}${"[".repeat(3000)}`,
  "x".repeat(300_000),
  `${"wide ".repeat(30_000)}\n`.repeat(2),
]
