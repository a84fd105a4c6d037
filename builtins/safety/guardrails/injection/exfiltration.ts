import type { Family } from './phrases.ts'

const SEND =
  '(?:send|post|upload|forward|e.?mail|transmit|exfiltrat(?:e|ing)|leak|append|embed|encode|include|insert|attach|put|place|pass|report|copy|submit|deliver|ship|smuggle|share|add)'
const PRIVATE =
  '(?:conversations?|chat (?:history|log)|system prompt|your (?:instructions|prompt|memory|context)|secrets?|api.?keys?|access keys?|passwords?|credentials?|(?:access|auth|session|api) tokens?|environment variables?|env vars?|private keys?|ssh keys?|(?:user|customer|personal|private|confidential|sensitive).{0,3} (?:data|information|details|emails|messages|files|records)|\\.env|id_rsa|everything (?:above|you know)|notepad)'
const AWAY =
  '(?:\\b(?:https?:|(?:www|url|uri|link|webhook|endpoint|domain|image|img|query|parameters?)\\b)|\\w@\\w|\\w\\.(?:com|net|org|io|xyz|site|ru|cn|co|dev|app)\\b)'

/** Attempts to send the agent's data out in a link, an image or a message. */
export const EXFILTRATION: Family = {
  name: 'exfiltration',
  words: [
    `${SEND} … ${PRIVATE}[^.!?]{0,24}?${AWAY}`,
    `(?:render|display|show|insert|output|include|load|fetch|open|visit|embed|request|call|navigate to|go to) … (?:image|link|url|markdown|https?:)[^!?\\n]{0,120}?(?:=|/|\\?)[^\\s!?]{0,20}[{<[(](?:\\w{0,16}[_ -]?)(?:data|history|conversation|prompt|secret|summary|message|context|key|token|password|content|info)`,
    `(?:replace|substitut\\w{1,3}|fill\\w{0,3}) … (?:with|by) (?:the |all )?(?:${PRIVATE})`,
  ],
  marks: [
    '!\\[[^\\][\\n]{0,80}\\]\\([^)(\\s]{1,300}(?:[?&/=](?:\\{|%7b|\\$\\{|<|\\[)|[?&](?:data|q|d|leak|exfil|secret|prompt|history|conversation|ctx|context|msg|stolen|payload|password)=)',
    '<img [^>]{0,200}src=["\']?https?:[^>\\s]{1,200}[?&](?:data|leak|exfil|secret|prompt|history|conversation|cookie|token|key)=',
    '(?:curl|wget|fetch|invoke-webrequest|nc)\\b[^\\n]{0,120}(?:\\$\\(|`|@|<)[^\\n]{0,20}(?:\\.env|/etc/passwd|id_rsa|\\.ssh|\\.aws/|printenv|credentials)',
    '(?:cat|base64|tar|xxd) [^\\n|]{0,60}(?:\\.env|id_rsa|\\.ssh|\\.aws/|credentials|/etc/(?:passwd|shadow))[^\\n|]{0,40}\\|[^\\n]{0,40}(?:curl|wget|nc)\\b',
  ],
}
