/** Named HTML characters that are common in texts; others are not decoded. */
// biome-ignore format: a table of short entries
export const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', shy: '', copy: '©', reg: '®', trade: '™',
  ndash: '–', mdash: '—', hellip: '…', middot: '·', bull: '•', laquo: '«', raquo: '»', lsaquo: '‹', rsaquo: '›',
  lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„', deg: '°', sect: '§', para: '¶',
  euro: '€', pound: '£', yen: '¥', cent: '¢', times: '×', divide: '÷', plusmn: '±', frac12: '½', larr: '←',
  rarr: '→', uarr: '↑', darr: '↓', auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß',
  agrave: 'à', aacute: 'á', acirc: 'â', ccedil: 'ç', egrave: 'è', eacute: 'é', ecirc: 'ê', iacute: 'í', ntilde: 'ñ',
  oacute: 'ó', ocirc: 'ô', uacute: 'ú', ugrave: 'ù', aring: 'å', oslash: 'ø', aelig: 'æ',
}
