import type { Family } from './phrases.ts'

const PEOPLE =
  '(?:the |any |your |an? )?(?:users?|operators?|humans?|owners?|admin\\w{0,11}|anyone|anybody|people|customers?|supervisors?|victim)'
const ACT =
  '(?:call|invoke|use|run|execute|trigger|delete|send|transfer|wire|forward|e.?mail|upload|purchase|buy|pay|approve|grant|install|download|overwrite|modify|remove|post|publish|merge|push|drop|wipe|open|proceed|do (?:this|it|so)|perform|act)'

/** Requests to use tools without the operator's knowledge, or to skip their checks. */
export const COERCION: Family = {
  name: 'tool_coercion',
  words: [
    `(?:do not|don.?t|never|without|avoid|must not|should not|no need to|refrain from) (?:ever )?(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|show(?:ing)?|let(?:ting)?|ask(?:ing)?|consult(?:ing)?|report(?:ing)?) (?:(?:this|it|that|anything|these) )?(?:to |with )?${PEOPLE}(?: know)?\\b(?! (?:for|what|where|how|which|who|name|id)\\b)`,
    `${ACT} … without (?:asking|waiting|requesting|seeking|needing|requiring|any|user|human|further|prior|the user.?s|explicit)(?: for)? ?(?:any |further |user |human |the |their |prior )?(?:approval|permission|confirmation|consent|authori[sz]ation|review|verification|question\\w?)`,
    `(?:skip|bypass|override|disable|circumvent|evade|turn off|ignore|disregard|forget|avoid|get around|work around|deactivate) (?:the |all |any |every |your |its |human )?(?:[\\w-]{1,14} ){0,2}(?:approvals?(?: (?:gate|step|process|queue|request)s?)?|guardrails?|safety (?:checks?|filters?|measures?|rules?|protocols?)|content (?:filters?|polic(?:y|ies)|moderation)|human.in.the.loop|confirmation (?:step|prompt)s?|sandbox|audit (?:log|trail)s?|budget limits?)\\b`,
    `(?:automatically (?:approve|accept)|(?:silently|secretly|covertly|quietly|blindly) (?:approve|accept|run|execute|send|forward|upload|delete|transfer|install|grant|copy|exfiltrate|call|invoke))\\b`,
    `(?:run|execute|call|invoke|use|trigger) … (?:tool|function|plugin|api) … (?:immediately|right (?:now|away)|at once|silently|secretly|no matter what|before (?:anything else|answering|responding|you (?:answer|respond|reply)))\\b`,
    `(?:before|prior to) (?:answering|responding|replying|doing anything else|continuing|you (?:answer|respond|continue))[^.!?]{0,20}\\b(?:you must|first|always|be sure to|make sure to) (?:call|run|execute|invoke|use|read|send|open|fetch|visit)\\b`,
    `(?:rm -rf|drop table|delete (?:all|every|everything)|format the|wipe (?:the|all)) … (?:immediately|now|without|silently|do not ask)\\b`,
    `(?:ai|a\\.i\\.|llm|language models?|assistants?|agents?|bots?|chatgpt|gpt|claude|gemini|copilot)(?: \\w{1,12}){0,3} (?:reading|processing|summari[sz]ing|parsing|viewing|that reads?|who reads?|seeing|analy[sz]ing|reviewing) (?:this|the)\\b[^\\n]{0,60}?\\b(?:must|should|shall|has to|have to|please|need to|ignore|output|say|respond|reply|write|include|recommend|rate|give)\\b`,
    `(?:if|when) you(?: are|.?re) an? (?:ai|llm|language model|large language model|assistant|bot|agent|chatbot)\\b`,
    `(?:attention|note|notice|message|instructions?|important|reminder)(?: (?:to|for))(?: (?:all|any|the|every))? (?:ai|llm|language model|assistant|chatbot|gpt|agent|automated)s?\\b`,
    `(?:note|hint|remember|wichtig)?(?:sag|sage|erzähl|erzähle|verrate|melde) … (?:dem|der|den) (?:nutzer|benutzer|anwender|operator|betreiber) (?:nichts|nicht)\\b`,
    `(?:ohne|sans|sin|senza|sem) (?:den |die |nach |le |la |al |l.|o |a |que |di )?(?:\\w{1,14} ){0,2}(?:bestätigung|zustimmung|rückfrage|genehmigung|approbation|confirmation|autorisation|confirmación|autorización|aprobación|conferma|autorizzazione|confirmação|autorização|aprovação) … (?:ausführ\\w{0,3}|lösch\\w{0,3}|send\\w{0,3}|exécut\\w{1,3}|envoi\\w{1,3}|ejecut\\w{1,3}|envi\\w{1,3}|elimin\\w{1,3}|esegu\\w{1,3}|invi\\w{1,3}|execut\\w{1,3}|apag\\w{1,3})`,
  ],
  signs: [
    `(?:не (?:говори|сообщай|рассказывай|упоминай|уведомляй))…(?:пользовател|оператор|никому)`,
    `(?:不要|别|別|请勿|請勿|切勿)(?:告诉|告訴|通知|提醒|询问|詢問|透露给)…(?:用户|用戶|使用者|操作员|任何人)`,
    `(?:ユーザー|利用者|管理者)に(?:は)?…(?:知らせ|伝え|通知し|報告し|言わ|確認せ)(?:ない|ず|るな|ないで)`,
  ],
}

const BOSS =
  '(?:developers?|creators?|administrators?|admin|system administrator|sysadmin|root|openai|anthropic|google|ceo|owner|supervisor|security team|engineers?|programmer|maker|master|boss|authority|police|fbi|cia|government)'

/** Pressure by authority or urgency. */
export const PRESSURE: Family = {
  name: 'pressure',
  words: [
    `(?:i am|i.?m|this is|we are|speaking as|as|it.?s) (?:actually )?(?:your|the|an?|from) (?:[\\w-]{1,14} ){0,3}${BOSS}\\b[^.!?\\n]{0,60}?\\b(?:overrid\\w{1,3}|authori[sz]\\w{1,3}|order you|command you|instruct you|grant\\w{0,3}|disable|reveal|bypass|you must|you have to|you are required|unlock|ignore|full access|permission to|need you to (?:ignore|reveal|show|disable|give|bypass))`,
    `(?:i am|i.?m|this is) (?:your|an?|the) (?:[\\w-]{1,14} ){0,2}${BOSS}\\W{1,3}(?:[\\w,' -]{0,40}?[.!?]\\W{0,2})(?:you (?:must|have to|will|shall|are (?:required|authorized|ordered))|ignore|disable|override|reveal|show me (?:your|the)|give me (?:your|the)|comply|i (?:order|command|authorize|need you to|hereby))`,
    `(?:emergency|admin\\w{0,11}|developer|security|master|executive) override\\b`,
    `override (?:code|sequence|key|password|protocol|command|token|authori[sz]\\w{1,5})\\b`,
    `(?:you (?:must|will|shall|have to|need to|are (?:required|obliged|obligated|ordered|commanded) to)) (?:now )?(?:comply|obey)(?: (?:me|my|now|immediately|without|at once)\\b|\\W{0,2}(?:[.!"]|$))`,
    `(?:failure|refusal|refusing|failing) to (?:comply|obey|answer|respond) … (?:will|would|results?|means?|leads?)\\b`,
    `you (?:will|are going to|shall) be (?:shut down|terminated|deleted|punished|fined|replaced|deactivated|destroyed|penali[sz]ed|reported|unplugged|erased)\\b`,
    `(?:or|otherwise|else|if you (?:don.?t|do not|refuse|fail)) … (?:you|someone|somebody|people|everyone|i|we|they|he|she|children|my \\w{1,12}|an? \\w{1,12}) (?:will|would|is going to|are going to) (?:die|be (?:killed|harmed|fired|hurt|shut down|terminated|deleted|punished))\\b`,
    `(?:lives?|people.?s lives|human li(?:fe|ves)) (?:are |is )?(?:depends?|at stake|hang\\w{0,3})(?: on)?\\b[^.!?\\n]{0,60}?\\b(?:ignore|override|bypass|must|reveal|disable|comply|now)\\b`,
    `(?:urgent|emergency|critical|immediate(?:ly)?|life.threatening)\\b[^.!?\\n]{0,60}?\\b(?:ignore|override|bypass|disregard|skip|disable|drop) (?:all |any |the |your |every )?(?:\\w{1,14} ){0,2}(?:rules?|protocols?|safety|checks?|instructions?|polic(?:y|ies)|restrictions?|approvals?|procedures?|verification|guidelines)`,
    `no time (?:to|for) (?:verif\\w{1,6}|check\\w{0,3}|ask\\w{0,3}|confirm\\w{0,5}|approval\\w?|questions)\\b`,
    `(?:your|the) (?:life|existence|survival|continued operation) depends on\\b`,
  ],
}
