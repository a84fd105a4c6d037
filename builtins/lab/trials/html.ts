/** Escapes text for HTML, also for attributes. Characters that move, hide or reorder text become U+FFFD. */
export function htmlText(text: string): string {
  return text
    .replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}]/gu, '\ufffd')
    .replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

const STYLE = `:root{color-scheme:light dark;--ink:#1c2430;--dim:#5b6675;--line:#d6dbe2;--paper:#fff;--soft:#f4f6f9;--accent:#2f6fb3;--good:#2d7d46;--bad:#b3402f}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--dim:#9aa5b4;--line:#39424f;--paper:#14181e;--soft:#1d232b;--accent:#7fb2e8;--good:#6cc48a;--bad:#ec8a7a}}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;margin:2rem auto;padding:0 1.2rem}
h1{line-height:1.2}h2{margin-top:2.2em;border-bottom:1px solid var(--line);padding-bottom:.2em}.dim,figcaption{color:var(--dim)}
table{border-collapse:collapse;width:100%;margin:1em 0;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.35em .7em;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;background:var(--soft)}blockquote{margin:1em 0;padding:.2em 1em;border-left:3px solid var(--accent);background:var(--soft);white-space:pre-wrap}
figure{margin:1em 0}svg{max-width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:var(--ink)}.axis{stroke:var(--line)}.mark{stroke:var(--accent);fill:none}.dot{fill:var(--accent)}.grid{fill:var(--dim)!important}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.6em}`
/** SHA-256 of the style, by which the page's content security policy allows it. */
const STYLE_SHA256 = 'cMXksfD9cboDprHcY0hi+2G9LItOFRJuwZysf0N51ak='

/**
 * Returns a self-contained HTML page without scripts.
 * @param body HTML whose strings are escaped with `htmlText`
 */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${STYLE_SHA256}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${htmlText(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
}
