"""The words and numbers that fill the slots of a phrasing, and their JSON schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_WORDS: dict[str, str] = {
    "chore": "wash the car,call the dentist,water the fern,sort the mail,fix the gate,buy stamps,"
    "renew the passport,clean the oven,write to grandma,return the books",
    "city": "Lisbon,Oslo,Kyoto,Lima,Cairo,Porto,Turin,Hamburg,Austin,Nairobi,Quito,Gdansk,Leeds,"
    "New Orleans,Cape Town,San Diego,Buenos Aires,Ho Chi Minh City,Zagreb,Perth",
    "colour": "teal,sand,navy blue,olive,ivory,coral,dark red,mint,charcoal",
    "column": "id,price,country,created_at,email,status,score,weight,city",
    "country": "Brazil,Norway,Japan,Kenya,Canada,South Korea,Chile,Poland,Vietnam,Ireland,Peru",
    "dataset": "orders,customers,sensor_logs,invoices,stock_items,visits,flights_2024",
    "email": "anna@oak.org,tom.lee@mail.net,info@riverbank.io,j.diaz@school.edu,mei@lab.dev,"
    "sales@northwind.co,k.olsen@fjord.no",
    "event": "garden party,quarterly review,book club,wedding,farewell lunch,launch,bake sale",
    "file": "holiday.png,notes.txt,report_final.pdf,cat.jpg,data/sales.csv,IMG_2041.jpg,plan.docx",
    "folder": "/tmp/out,/home/lea/photos,archive,backup/2024,documents/tax,/srv/www,shared",
    "food": "rice,lentils,oat milk,cherry tomatoes,bread,tofu,salmon,eggs,dark chocolate,apples,"
    "pasta,olive oil,mushrooms,yoghurt",
    "host": "web-01,db-primary,cache3,build.internal,mail-gw,gpu-node-7,edge-lon-2",
    "job": "nurse,data engineer,carpenter,translator,pastry chef,teacher,electrician,accountant",
    "language": "German,Spanish,Finnish,Korean,Swahili,Italian,Turkish,Greek,Polish",
    "medicine": "ibuprofen,metformin,loratadine,amoxicillin,insulin,vitamin D",
    "message": "I will be ten minutes late,the keys are under the mat,dinner is ready,"
    "we won the match,the meeting moved to noon,thanks for the flowers,bring warm socks,"
    "the boiler is fixed,see you at the station,our new shop opens on Monday",
    "person": "Maria,John,Yusuf,Ingrid,Chen,Aisha,Pedro,Olga,Liam,Priya,Hana,Dr. Novak,Uncle Bob",
    "pet": "Rex,Luna,Whiskers,the hamster,Biscuit,the parrot,Milo",
    "problem": "a broken printer,slow wifi,a missing invoice,login errors,a cracked screen,"
    "the coffee machine,spam in my inbox",
    "room": "kitchen,bedroom,living room,attic,Jupiter,bathroom,hallway,basement,Aurora,study",
    "street": "12 Mill Lane,Main Street 5,88 Harbour Road,Station Square,4 Rue Cler,9 Elm Street",
    "title": "The Long Winter,Blue Harbour,Night Train,A Quiet Sea,Iron Valley,Seven Rivers,"
    "The Glass Garden,Paper Moons,Lost in Tallinn,Comet",
    "topic": "volcanoes,medieval music,solar panels,bees,budget 2025,knitting,sourdough,sunsets,"
    "chess openings,garden ideas,ancient Rome,electric cars",
    "venue": "Luigi's,The Green Fork,Sakura House,the airport,Bar Celona,Central Station,Blue Door,"
    "the opera house,Pho 88",
    "weekday": "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    "word": "Haus,serendipity,puente,kissa,zeitgeist,lumen,ferrovia,gato,ephemeral",
}
POOLS = {kind: words.split(",") for kind, words in _WORDS.items()}
# One and two read badly before a plural or a unit, so only larger numbers become words.
NUMBER_WORDS = {
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
    10: "ten",
    11: "eleven",
    12: "twelve",
}
_NAMES = {"city", "country", "language", "person", "pet", "title", "topic", "venue", "word"}
_SYLLABLES = [
    *("al", "ben", "cor", "den", "el", "fin", "gra", "hol", "is", "jun", "kar", "lo", "mar", "ne"),
    *("or", "pel", "qui", "ros", "sta", "tur", "ul", "ven", "wil", "yor", "zan", "ish", "ese"),
]


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON schema of a kind of value."""
    if kind.endswith("*"):
        return {"type": "array", "items": schema_of(kind[:-1])}
    if kind == "bool":
        return {"type": "boolean"}
    if ".." in kind:
        return {"type": "number" if "." in kind.replace("..", "") else "integer"}
    if "|" in kind:
        return {"type": "string", "enum": kind.split("|")}
    return {"type": "string"}


def sample(kind: str, rng: Random) -> Any:
    """A random value of a kind."""
    if kind.endswith("*"):
        return _sample_list(kind[:-1], rng)
    if kind == "bool":
        return rng.random() < 0.5
    if ".." in kind:
        return _sample_number(kind, rng)
    if "|" in kind:
        return rng.choice(kind.split("|"))
    if kind in _MADE:
        return _MADE[kind](rng)
    return _word(kind, rng)


def spell(value: Any, rng: Random) -> str:
    """A value as a person would write it in a sentence."""
    if isinstance(value, list):
        words = [str(item) for item in value]
        return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]
    if isinstance(value, int) and value in NUMBER_WORDS and rng.random() < 0.15:
        return NUMBER_WORDS[value]
    return str(value)


def _sample_list(kind: str, rng: Random) -> list[Any]:
    length = rng.randint(1, 4) if kind in POOLS else rng.randint(3, 5)
    if kind in POOLS:
        return rng.sample(POOLS[kind], length)
    return [sample(kind, rng) for _ in range(length)]


def _word(kind: str, rng: Random) -> str:
    """A word of the pool; for names often one never heard before, so that copying is learnt."""
    if kind not in _NAMES or rng.random() < 0.5:
        return rng.choice(POOLS[kind])
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 3))) for _ in range(rng.randint(1, 2))]
    name = " ".join(words)
    return name.title() if rng.random() < 0.7 else name


def _sample_number(kind: str, rng: Random) -> int | float:
    low, high = kind.split("..")
    if "." not in low:
        return rng.randint(int(low), int(high))
    value = round(rng.uniform(float(low), float(high)), rng.randint(1, 2))
    # People write 20, not 20.0, and a number may be whole.
    return int(value) if value.is_integer() or rng.random() < 0.25 else value


def _code(rng: Random) -> str:
    return f"{rng.choice(['INV', 'A', 'RE', 'PO'])}-{rng.randint(100, 99999)}"


def _date(rng: Random) -> str:
    year, month, day = rng.randint(2024, 2027), rng.randint(1, 12), rng.randint(1, 28)
    names = "January February March April May June July August September October November December"
    return rng.choice([f"{year}-{month:02}-{day:02}", f"{day} {names.split()[month - 1]}", "Friday", "May 1st"])


def _phone(rng: Random) -> str:
    return f"+{rng.randint(1, 99)} {rng.randint(100, 999)} {rng.randint(1000, 9999)}"


def _plate(rng: Random) -> str:
    letters = "".join(rng.choices("ABCDEFGHKLMNPRSTUVWXYZ", k=3))
    return f"{letters} {rng.randint(10, 9999)}"


def _time(rng: Random) -> str:
    clock = f"{rng.randint(6, 22)}:{rng.choice(['00', '15', '30', '45'])}"
    return rng.choice([clock, clock, f"{rng.randint(1, 11)} pm", f"{rng.randint(6, 11)} am"])


_MADE: dict[str, Callable[[Random], str]] = {
    "code": _code,
    "date": _date,
    "phone": _phone,
    "plate": _plate,
    "time": _time,
}
