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
  above adding afterwards allow almost along already always anybody anyone anything anyway anywhere ask asked
  became become begin behind being believe beneath besides better between beyond bold build call came cannot
  carefully carry certainly check choose cold consider contact cooking create currently dark depending develop
  different discover does doing done dress drink early eating either else enjoy enough ensure especially
  eventually ever everywhere exactly example except experience explore eyes fact feeling fill final finally
  follow following forget friend fully furthermore gave girl given going happy healthy hear hence her here
  hers herself him himself hot hundreds imagine important improve including indeed inside instead interested
  into knew knowledge language latter laugh learn least listen looking maximum mean mine mix moderate moreover
  morning mother myself nature need neither nevertheless nonetheless nor normally note nothing nowhere number
  numbers ordinary otherwise ought ours overall play please practice pretty probably provide put question
  questions rain recently remember remove results right same seem seems send serve similarly simple simply
  sing slowly so someday somehow someone sometimes soon sorry speak speed still strange success such suddenly
  surely swim taking teach ten thank thanks them themselves therefore things think thinking though through
  throughout thus tips together tomorrow took towards traditional true try trying turn type ultimately
  understand unexpected unfortunately unique unless unlike unlimited upon us using various very via wait walk
  walking warm wear weather welcome went were whenever whereas wherever whether which whole whom wife wise
  wish within without words working writing yes yesterday yet your yourself zero
`);

/** Ordinary words that are also written with a capital inside sentences: they say nothing, but are no surnames either. */
export const AMBIGUOUS_WORDS = wordSet(`
  a about across actually add added after again against ago all alone also although am among an and another
  any apart are around as at avoid away back based be because been before began below best big both bring but
  buy by called can certain change cheap children clear clearly close come could cut data day days death
  definitely despite did do down due during each easy eat education end even evening every everybody everyone
  everything family far fast father feel few find first five food for form four free freedom fresh friends
  from full fun further future game garden generally get getting give go gone good got great grow had half
  hand hard has have having he health heart heat help high his home hope house how however ideas if in
  increase information is it its itself job join just keep kind know last late later learning leave less let
  life light like likely limit little live long look love made main make making man many material maybe me
  meanwhile men might money more most mostly move much music must my near nearly never new next nice night no
  nobody none not now of off offer often old on once one only open operations or order other others our out
  outside over own parents part people perhaps place plan plus possible power price products programs quality
  quickly quite rather read reading ready really reduce research rest rich run running safety said save say
  says schools science scientists second see seen set several share she shop should show since six sleep small
  soft software some somebody something somewhere sound special spring start stay stop story strong students
  study summer support sure take talk teachers technology tell test than that the their then there these they
  thing third this those thousands three time to today too total toward travel trust two types under until up
  use used usually value visit want was watch water way we well what whatever when where while white who whose
  why will wine winter with women wonder work workers world would write wrong year years you young
`);
