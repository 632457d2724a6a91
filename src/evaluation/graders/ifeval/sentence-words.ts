/** Words that tell Punkt's English model whether a period ends a sentence, in small letters. */

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

/** Without their last period. */
export const ABBREVIATIONS = wordSet(`
  a.a a.c a.d a.g a.h a.m a.m.e a.s a.t adm ala ariz aug ave b.f b.v bros c c.i.t c.o.m.b c.v calif chg cie co
  col colo conn corp cos ct d d.c d.h d.w dec dr e e.f e.h e.l e.m f f.g f.j feb fla fri ft g g.d g.f g.k ga
  gen h h.c h.f h.m i.m.s ill inc j.b j.c j.j j.k j.p j.r jan jr k kan ky l l.a l.f l.p lt ltd m m.b.a m.d.c
  m.j maj messrs mg mich minn mr mrs ms n n.c n.d n.h n.j n.m n.v n.y nev nov oct ok okla ore p p.a.m p.m pa
  ph.d prof r r.a r.h r.i r.j r.k r.t rep reps s s.a s.a.y s.c s.g s.p.a s.s sen sep sept sr st sw t t.j tenn
  tues u.k u.n u.s u.s.a u.s.s.r v va vs vt w w.c w.r w.va w.w wash wed wis yr
`);

/** Begin a sentence behind an abbreviation when written with a capital. */
export const SENTENCE_STARTERS = wordSet(`
  according although among both but despite even he however i if in indeed instead it many meanwhile moreover
  most nevertheless nonetheless nor sales separately similarly since so some the there these they this though
  thus under when while yet
`);

/** Word before the period and word behind it that belong together; `##number##` stands for any number. */
export const COLLOCATIONS = wordSet(`
  ##number##_abreast ##number##_aes ##number##_business ##number##_cbot ##number##_colgate
  ##number##_commodities ##number##_cooper ##number##_corrections ##number##_credit ##number##_dividend
  ##number##_financing ##number##_genentech ##number##_henley ##number##_insider ##number##_international
  ##number##_leisure ##number##_letters ##number##_notable ##number##_pay-fone ##number##_pegasus
  ##number##_pepper ##number##_review ##number##_rj ##number##_wedgestone ##number##_who ##number##_zimmer
  b_edelman b_levine b_smith b_stewart b_wigton i_magnin i_toussie j_aron j_fialka j_walter o_ludcke
`);

/** Ordinary words: a capital says that a sentence begins with them, not that they are names. */
export const COMMON_WORDS = wordSet(`
  above afterwards allow almost along already always anybody anyone anything anyway anywhere ask asked became
  become begin behind being believe beneath besides better between beyond call came cannot carry certainly
  check choose consider currently depending different does doing done early either else enjoy enough
  especially eventually ever everywhere exactly except fact final finally follow following fully furthermore
  gave given going happy hear hence her here hers herself him himself hundreds imagine including indeed inside
  instead into knew latter learn least looking mean mine moreover myself need neither nevertheless nonetheless
  nor normally note nothing nowhere otherwise ought ours overall please probably provide put recently remember
  right same seem seems similarly simply so somehow someone sometimes soon sorry speak still such suddenly
  surely taking ten thank thanks them themselves therefore things think though through throughout thus
  together tomorrow took towards try trying turn ultimately unfortunately unless unlike upon us using various
  very via wait went were whenever whereas wherever whether which whole whom wife wish within without yes
  yesterday yet your yourself
`);
