/** What the formats of tokens are found by. Made by build/anchors.ts from the tables in formats/. Pure. */

/** The words before the first separator, each with that separator. */
export const WORDS =
  " A3- AGE- AIK_ APP_ AQ. AVNS_ BBDC- BBFF- CCDB1_ CCIPAT_ CCIPRJ_ CFPAT- CLOJARS_ CW- FLWPUBK- FLWPUBK_ FLWSECK- FLWSECK_ GOCSPX- HRKU- KGAT_ M. Mid- NRAA- NRAK- NRBR- NRII- NRIQ- NRJS- NRRA- PMAK- PMAT- RGAPI- SG. SWMKEY- SWMTKN- TEST- VF. WPL_ access- access_ age- aio_ ajkey_ ak_ amzn. amzn1. aph0_ api_ apify_ apk_ asset- at_ atk_ atlasv1. authress_ b10ck5. bb_ bce- bedrock- bitpat_ bitwat_ bkaj_ bkat_ bkct_ bkpt_ bkrt_ bkua_ bpk- bt- bxt_ cal_ censys_ cfat_ cfk_ cfut_ chpt_ ck_ cog_ configcat- crsr_ cs_ csa_ csk- cu_ cxtp_ cxup_ dbtc_ dbtu_ dckr_ ddapp_ ddo_ ddp_ ddpat_ ddw_ depot_ dev: dls_ dnkey- doo_ dop_ dor_ dp. dt0c01. dt0s01. dt0s02. dt0s03. dt0s04. dt0s06. dt0s08. dt0s16. dub_ duffel_ dvc_ e2b_ ek_ esecret_ essu_ ext_ figd_ figdr_ figo_ figoh_ figor_ figu_ fio- flb_ flp_ fm1_ fm1a_ fm1r_ fm2_ fo1_ fw_ gb_ gho_ ghp_ ghr_ ghs_ ghu_ github_ gitpod_ glagent- glc_ glcbt- gldt- glffct- glft- glimt- gloas- glpat- glptt- glrt- glrtr- glsa_ glsoat- glwt- gsk_ hawk. hcaik_ hcalk_ hcamk_ hcbik_ hcilk_ hcxik_ hcxlk_ hcxmk_ hf_ hl_ hvb. hvr. hvs. jca_ jina_ jsrd_ jsrp_ jsrt_ key_ klarna_ kpat_ lin_ link- live- llx- ls_ lsv2_ mdb_ mercury_ mfa. mint_ mlsn. n8n_ napi_ nc_ nfb_ nfc_ nfo_ nfp_ nfu_ npm_ nsct_ ntn_ nvapi- ol_ ops_ ory_ os_ ovsxat_ ovsxp_ ovsxsct_ p. p8e- packagist_ pat- pat_ pcsk_ pdl_ persona_ pha_ phc_ phr_ phs_ phx_ pina_ pinc_ pinr_ pk- pk. pk_ pl_ plane_ pnb_ pnu_ polar_ pplx- prod: production_ prtapi_ pscale_ ptk_ ptr_ pts_ pub- pubkey- pul- pylf_ pypi- r8_ ramp_ rdme_ re_ retool_ rh- rk_ rnd_ rootly_ rpa_ rubygems_ rzp_ s- salad_ sandbox_ sat_ sb_ sbp_ sc_ scauth_ scp- sct_ sec- secret- secret_ ser. sess- sgd_ sgp_ sgph_ sgs_ sha256~ shippo_ shltm_ shpat_ shpca_ shppa_ shprt_ shpss_ shptka_ shpua_ sig_ signkey- sk- sk. sk_ skey_ sktsec_ sl. slk_ sm_ sntrya_ sntryi_ sntryr_ sntrys_ sntryu_ snyk_ spat_ sq0atp- sq0csp- sq0idp- sqa_ sqp_ squ_ st. sts_ sub- syt_ t1. testsk_ tfp_ tgp_ thog- tk- tk. tly- tr_ tskey- tvly- ucat_ unkey_ v1. v2. v3. v4. vca_ vci_ vck_ vcp_ vcr_ vercel_ vk1. vtwn_ waka_ wandb_ whsec_ wk- ws- ww- xaat- xai- xait- xapp- xapt- xau_ xkeysib- xnd_ xoxa- xoxa. xoxb- xoxb. xoxc- xoxc. xoxd- xoxd. xoxe- xoxe. xoxo- xoxo. xoxp- xoxp. xoxr- xoxr. xoxs- xoxs. xoxx- xoxx. xsmtpsib- xwfp- y0_ y1_ y2_ y3_ ya29. zpka_ "

/** Words that occur anywhere. In a format at least 20 letters, digits, `_` and `-` follow. */
export const ORDINARY =
  " 1000. API- NF- STS. account- act. ak- al- api- app- app_ as- auto_ b_ ck- console- da2- dataset- development. fc- ico- key- live_ m0- master- md- mob- nk- odt_ pa- pat. production. res_ s. sat. sdk- server_ ss_ staging. t- tss_ u- vmw_ web_ "

/** The first characters of formats without a separator. */
export const HEADS =
  " A21A A3T AAAA ABIA ABSK AC0 AC1 AC2 AC3 AC4 AC5 AC6 AC7 AC8 AC9 ACCA ACa ACb ACc ACd ACe ACf AIza AKC AKCp AKIA AKID AKLT AQE AQVN AQoD ASIA ATAT ATBB ATCT ATOA ATTA BQA BQB BQC BQD BSA DO00 DO80 EAA EAAA EXO EZAK EZTK FQoD FQoG FwoG GOOG GR13 IGAA IGQV IKID IQoJ K10 KEY0 LTAI MC5 MDAw MDAx MDAy MDAz MLY| SCW SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKA SKB SKC SKD SKE SKF SKa SKb SKc SKd SKe SKf THAA YCA YCM YCN YCO YCP "

/** Matches up to the third character of one of them, and more. */
export const plainGate = (): RegExp =>
  /[^A-Za-lo-qsu-z0-9][ABDEFGIKLMSTY][123ABCDEGHIKLOQRSTXZw][0123456789ABCDEFILMNOPQSTVWYabcdefoz](?=[\w+/:.|-]{12})/g

/** Other beginnings, which are searched for directly. */
export const LITERALS = "0.A|00D|1.A|1//0|4b1d|6L|FlyV1|aivenv1|cflt|cio|cmVmd|cnvca|dG9rO|dapi|eyJ|oy2"

/** Texts in the middle of formats that begin with random characters. */
export const MIDDLES =
  "+ABa|+ACR|+AEh|+ARm|+ASb|+ASt|-us|:AA|:fx|ACDb|AIoT|AZDO|AzCa|AzFu|AzSe|JQQJ99|NRAL|Q~|_mmk|msh"
