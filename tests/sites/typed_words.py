"""Words for the labelled pages: what a local paper may say, in a dozen languages."""

# ruff: noqa: RUF001  # The letters are those of their languages.
# ruff: noqa: E501

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """What is said in one language."""

    code: str
    sentences: tuple[str, ...]
    titles: tuple[str, ...]
    more: str
    """What links say that lead to the rest of a text."""
    menu: tuple[str, ...]

    def text(self, sentences: int, start: int = 0) -> str:
        """Returns some text of so many sentences."""
        gap = "" if self.code in ("zh", "ja") else " "
        return gap.join(self.sentences[(start + number) % len(self.sentences)] for number in range(sentences))

    def title(self, number: int) -> str:
        title = self.titles[number % len(self.titles)]
        return title if number < len(self.titles) else f"{title} ({number})"


ENGLISH = Words(
    "en",
    (
        "The ferry to the northern islands leaves at six in the morning, whatever the weather may be.",
        "Since the new timetable came into force, fewer fishermen have had to spend the night in the harbour.",
        "The council will vote next week on a second boat, which the smaller villages have asked for since spring.",
        "“We do not need a bigger ship, we need one that comes when it says so,” said the head of the school.",
        "In winter the crossing takes almost an hour longer, because the captain keeps well clear of the reef.",
    ),
    (
        "Northern islands get a second ferry",
        "School board looks for two more teachers",
        "Storm tears the roof off the old cannery",
        "Why the lighthouse will stay dark this winter",
        "A bakery opens where the bank used to be",
        "Harbour fees rise for the first time in years",
    ),
    "Read more",
    ("News", "Sport", "Weather", "Contact", "About us"),
)
GERMAN = Words(
    "de",
    (
        "Die Fähre zu den nördlichen Inseln legt um sechs Uhr morgens ab, wie immer das Wetter auch sein mag.",
        "Seit der neue Fahrplan gilt, müssen weniger Fischer die Nacht im Hafen verbringen als noch im Vorjahr.",
        "Der Gemeinderat stimmt kommende Woche über ein zweites Boot ab, um das die Dörfer seit dem Frühling bitten.",
        "Im Winter dauert die Überfahrt fast eine Stunde länger, weil der Kapitän einen Bogen um das Riff macht.",
    ),
    (
        "Zweite Fähre für die nördlichen Inseln",
        "Schule sucht noch immer zwei Lehrkräfte",
        "Sturm deckt das Dach der alten Fabrik ab",
        "Warum der Leuchtturm im Winter dunkel bleibt",
        "Eine Bäckerei zieht in die frühere Sparkasse",
    ),
    "Weiterlesen",
    ("Nachrichten", "Sport", "Wetter", "Kontakt", "Impressum"),
)
FRENCH = Words(
    "fr",
    (
        "Le bac qui dessert les îles du nord part à six heures du matin, quel que soit le temps qu'il fait.",
        "Depuis l'entrée en vigueur du nouvel horaire, moins de pêcheurs doivent passer la nuit dans le port.",
        "Le conseil votera la semaine prochaine sur un deuxième bateau, que les villages réclament depuis le printemps.",
        "En hiver, la traversée dure presque une heure de plus, car le capitaine passe très au large du récif.",
    ),
    (
        "Un deuxième bac pour les îles du nord",
        "L'école cherche toujours deux enseignants",
        "La tempête emporte le toit de la conserverie",
        "Pourquoi le phare restera éteint cet hiver",
        "Une boulangerie s'installe dans l'ancienne banque",
    ),
    "Lire la suite",
    ("Actualités", "Sport", "Météo", "Contact", "À propos"),
)
SPANISH = Words(
    "es",
    (
        "El transbordador a las islas del norte sale a las seis de la mañana, haga el tiempo que haga.",
        "Desde que rige el nuevo horario, son menos los pescadores que tienen que pasar la noche en el puerto.",
        "El pleno votará la próxima semana sobre un segundo barco, que los pueblos piden desde la primavera.",
        "En invierno la travesía dura casi una hora más, porque el capitán se mantiene lejos del arrecife.",
    ),
    (
        "Un segundo transbordador para las islas del norte",
        "La escuela sigue buscando dos maestros",
        "La tormenta arranca el techo de la conservera",
        "Por qué el faro seguirá apagado este invierno",
        "Una panadería abre donde estaba el banco",
    ),
    "Leer más",
    ("Noticias", "Deportes", "El tiempo", "Contacto", "Quiénes somos"),
)
PORTUGUESE = Words(
    "pt",
    (
        "A balsa para as ilhas do norte parte às seis da manhã, seja qual for o tempo que estiver a fazer.",
        "Desde que o novo horário entrou em vigor, menos pescadores precisam de passar a noite no porto.",
        "A câmara vota na próxima semana um segundo barco, que as aldeias mais pequenas pedem desde a primavera.",
    ),
    (
        "Segunda balsa para as ilhas do norte",
        "Escola ainda procura dois professores",
        "Tempestade arranca o telhado da antiga fábrica",
        "Porque o farol fica apagado neste inverno",
    ),
    "Ler mais",
    ("Notícias", "Desporto", "Tempo", "Contacto", "Sobre nós"),
)
RUSSIAN = Words(
    "ru",
    (
        "Паром на северные острова отходит в шесть часов утра, какой бы ни была погода в этот день.",
        "С тех пор как действует новое расписание, рыбакам реже приходится ночевать в порту.",
        "На следующей неделе совет проголосует за второе судно, о котором деревни просят с самой весны.",
        "Зимой переправа длится почти на час дольше, потому что капитан далеко обходит риф.",
    ),
    (
        "Северные острова получат второй паром",
        "Школа всё ещё ищет двух учителей",
        "Буря сорвала крышу старого завода",
        "Почему маяк этой зимой не будет гореть",
        "На месте банка открылась пекарня",
    ),
    "Читать далее",
    ("Новости", "Спорт", "Погода", "Контакты", "О нас"),
)  # fmt: skip
GREEK = Words(
    "el",
    (
        "Το πλοίο για τα βόρεια νησιά φεύγει στις έξι το πρωί, όποιος κι αν είναι ο καιρός εκείνη την ημέρα.",
        "Από τότε που ισχύει το νέο δρομολόγιο, λιγότεροι ψαράδες περνούν τη νύχτα τους στο λιμάνι.",
        "Το συμβούλιο ψηφίζει την επόμενη εβδομάδα για ένα δεύτερο πλοίο, που τα χωριά ζητούν από την άνοιξη.",
    ),
    (
        "Δεύτερο πλοίο για τα βόρεια νησιά",
        "Το σχολείο ψάχνει ακόμη δύο δασκάλους",
        "Η καταιγίδα πήρε τη στέγη του παλιού εργοστασίου",
        "Γιατί ο φάρος θα μείνει σβηστός τον χειμώνα",
    ),
    "Περισσότερα",
    ("Νέα", "Αθλητικά", "Καιρός", "Επικοινωνία"),
)
ARABIC = Words(
    "ar",
    (
        "تغادر العبارة إلى الجزر الشمالية في السادسة صباحا مهما كانت حالة الطقس في ذلك اليوم.",
        "منذ بدء العمل بالجدول الجديد أصبح عدد أقل من الصيادين يقضون الليل في الميناء.",
        "سيصوت المجلس الأسبوع المقبل على قارب ثان تطالب به القرى الصغيرة منذ الربيع الماضي.",
        "في الشتاء يستغرق العبور ساعة إضافية تقريبا لأن القبطان يبتعد كثيرا عن الشعاب المرجانية.",
    ),
    (
        "عبارة ثانية إلى الجزر الشمالية",
        "المدرسة ما زالت تبحث عن معلمين اثنين",
        "العاصفة تقتلع سقف المصنع القديم",
        "لماذا تبقى المنارة مطفأة هذا الشتاء",
    ),
    "اقرأ المزيد",
    ("أخبار", "رياضة", "الطقس", "اتصل بنا"),
)
HINDI = Words(
    "hi",
    (
        "उत्तरी द्वीपों की नाव सुबह छह बजे निकलती है, उस दिन मौसम चाहे जैसा भी हो।",
        "नई समय सारणी लागू होने के बाद कम मछुआरों को बंदरगाह में रात बितानी पड़ती है।",
        "परिषद अगले सप्ताह दूसरी नाव पर मतदान करेगी, जिसकी माँग गाँव वसंत से कर रहे हैं।",
    ),
    (
        "उत्तरी द्वीपों के लिए दूसरी नाव आएगी",
        "विद्यालय को अब भी दो शिक्षकों की तलाश है",
        "तूफान ने पुराने कारखाने की छत उड़ा दी",
        "इस सर्दी में प्रकाश स्तंभ क्यों बुझा रहेगा",
    ),
    "और पढ़ें",
    ("समाचार", "खेल", "मौसम", "संपर्क"),
)
CHINESE = Words(
    "zh",
    (
        "开往北部群岛的渡轮每天早上六点出发，不管当天的天气怎么样。",
        "自从新的时刻表实行以来，需要在港口过夜的渔民比去年少了许多。",
        "议会下周将就第二艘船进行表决，几个较小的村庄从春天起就一直在要求。",
        "冬天的航程几乎要多一个小时，因为船长总是远远地绕开暗礁。",
    ),
    (
        "北部群岛将迎来第二艘渡轮",
        "学校仍在寻找两名新教师",
        "暴风雨掀翻旧罐头厂的屋顶",
        "今年冬天灯塔为何不再亮起",
        "老银行旧址开了一家面包店",
    ),
    "阅读全文",
    ("新闻", "体育", "天气", "联系我们"),
)  # fmt: skip
JAPANESE = Words(
    "ja",
    (
        "北の島々へ向かうフェリーは、どんな天気の日でも朝六時に港を出る。",
        "新しい時刻表になってから、港で夜を明かす漁師は去年よりずっと少なくなった。",
        "町議会は来週、小さな村々が春から求めてきた二隻目の船について採決する。",
        "冬は船長が岩礁を大きく避けるため、渡るのに一時間近く余計にかかる。",
    ),
    (
        "北の島々に二隻目のフェリー就航へ",
        "小学校が新しい先生を二人募集",
        "嵐で古い缶詰工場の屋根が飛ぶ",
        "この冬、灯台に明かりがともらない理由",
    ),
    "続きを読む",
    ("ニュース", "スポーツ", "天気", "お問い合わせ"),
)  # fmt: skip
KOREAN = Words(
    "ko",
    (
        "북쪽 섬으로 가는 여객선은 날씨가 어떻든 매일 아침 여섯 시에 떠난다.",
        "새 시간표가 시행된 뒤로 항구에서 밤을 보내야 하는 어부가 작년보다 줄었다.",
        "군의회는 작은 마을들이 봄부터 요구해 온 두 번째 배를 다음 주에 표결한다.",
    ),
    (
        "북쪽 섬에 두 번째 여객선이 다닌다",
        "학교는 아직도 교사 두 명을 찾는다",
        "폭풍에 옛 통조림 공장 지붕이 날아갔다",
        "이번 겨울 등대에 불이 켜지지 않는 까닭",
    ),
    "더 보기",
    ("뉴스", "스포츠", "날씨", "문의"),
)
ALL = (
    ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, RUSSIAN, GREEK, ARABIC, HINDI, CHINESE, JAPANESE, KOREAN,
)  # fmt: skip
