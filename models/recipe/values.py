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
    "common": "anchor,apple,arrow,autumn,basket,battery,beach,bell,bicycle,bird,blanket,board,bottle,"
    "branch,bread,bridge,brush,button,cabin,camera,candle,canvas,carpet,castle,cave,chain,"
    "cheese,circle,cliff,cloud,coast,coin,copper,corner,cotton,crystal,curtain,dance,desert,"
    "diamond,dinner,doctor,dolphin,drum,eagle,engine,evening,fabric,feather,field,finger,flag,"
    "flame,flower,forest,fountain,fox,galaxy,garlic,ghost,glass,glove,grape,gravity,guitar,"
    "hammer,harvest,helmet,honey,horse,island,jacket,jungle,kettle,ladder,lantern,leather,legend,"
    "lemon,letter,library,lion,machine,magnet,maple,marble,market,meadow,melody,mirror,morning,"
    "mountain,museum,needle,network,ocean,onion,orange,orbit,oven,palace,paper,parade,pencil,"
    "pepper,piano,pillow,planet,pocket,police,potato,powder,puzzle,rabbit,rain,ribbon,river,"
    "rocket,saddle,salad,sand,school,season,shadow,shell,ship,silver,sister,smoke,snow,soccer,"
    "spider,spring,square,station,stone,storm,student,sugar,summer,sunset,table,teacher,temple,"
    "theatre,thunder,ticket,tiger,tower,travel,tunnel,turtle,valley,velvet,village,violin,wagon,"
    "water,whale,wheel,window,winter,wolf,yellow,zebra",
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
    "length": "metres,feet,inches,yards,centimetres,miles,kilometres",
    "medicine": "ibuprofen,metformin,loratadine,amoxicillin,insulin,vitamin D",
    "message": "I will be ten minutes late,the keys are under the mat,dinner is ready,"
    "we won the match,the meeting moved to noon,thanks for the flowers,bring warm socks,"
    "the boiler is fixed,see you at the station,our new shop opens on Monday",
    "person": "Maria,John,Yusuf,Ingrid,Chen,Aisha,Pedro,Olga,Liam,Priya,Hana,Dr. Novak,Uncle Bob",
    "pet": "Rex,Luna,Whiskers,the hamster,Biscuit,the parrot,Milo",
    "problem": "a broken printer,slow wifi,a missing invoice,login errors,a cracked screen,"
    "the coffee machine,spam in my inbox",
    "room": "kitchen,bedroom,living room,attic,Jupiter,bathroom,hallway,basement,Aurora,study",
    "saying": "guten Appetit,c'est la vie,break a leg,hasta luego,piece of cake,how are you,see you soon",
    "street": "12 Mill Lane,Main Street 5,88 Harbour Road,Station Square,4 Rue Cler,9 Elm Street",
    "title": "The Long Winter,Blue Harbour,Night Train,A Quiet Sea,Iron Valley,Seven Rivers,"
    "The Glass Garden,Paper Moons,Lost in Tallinn,Comet",
    "topic": "volcanoes,medieval music,solar panels,bees,budget 2025,knitting,sourdough,sunsets,"
    "chess openings,garden ideas,ancient Rome,electric cars",
    "venue": "Luigi's,The Green Fork,Sakura House,the airport,Bar Celona,Central Station,Blue Door,"
    "the opera house,Pho 88",
    "weekday": "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    "weight": "grams,kilos,pounds,ounces,tons,stone",
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
_NAMES = {"city", "person", "pet", "title", "topic", "venue", "word"}
# Values of these kinds have a meaning of their own or a form that other words lack.
_CLOSED = {"column", "country", "email", "file", "folder", "host", "language", "length", "street", "weekday", "weight"}
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
    if kind in POOLS:
        return list(dict.fromkeys(_word(kind, rng) for _ in range(rng.randint(1, 4))))
    return [sample(kind, rng) for _ in range(rng.randint(3, 5))]


def _word(kind: str, rng: Random) -> str:
    """A word of the pool, or often any others, some never heard before, likely or not, so that copying is learnt."""
    chance = rng.random()
    if chance < 0.4 or kind in _CLOSED:
        return rng.choice(POOLS[kind])
    count = rng.randint(1, 2) if kind in _NAMES else rng.randint(1, 1 + POOLS[kind][0].count(" "))
    if kind not in _NAMES or chance < 0.7:
        words = rng.sample(POOLS["common"], count)
    else:
        words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 3))) for _ in range(count)]
    name = " ".join(words)
    return rng.choice([name.title(), name.capitalize(), name]) if kind in _NAMES else name


def _sample_number(kind: str, rng: Random) -> int | float:
    low, high = kind.split("..")
    if "." not in low:
        return rng.randint(int(low), int(high))
    value = round(rng.uniform(float(low), float(high)), rng.randint(1, 2))
    # People write 20, not 20.0, and a number may be whole.
    return int(value) if value.is_integer() or rng.random() < 0.25 else value


def _code(rng: Random) -> str:
    return f"{_letters(rng)[: rng.randint(1, 3)]}{rng.choice(['-', '-', ''])}{rng.randint(100, 99999)}"


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


def _letters(rng: Random) -> str:
    return "".join(rng.choices("ABCDEFGHIKLMNOPRSTUVWXYZ", k=rng.randint(3, 5)))


def _phrase(rng: Random) -> str:
    """A few words as people type them into a search box."""
    kinds, things = ("cheap", "old", "best", "used", "quiet", "new", "small", "vegan"), ("cafes", "violins", "tents")
    words = [rng.choice(kinds)] if rng.random() < 0.5 else []
    words.append(rng.choice([*things, *POOLS["topic"], *POOLS["food"], *POOLS["job"]]))
    if rng.random() < 0.3:
        words.append(rng.choice(["reviews", "tips", "history", "prices", "for beginners"]))
    if rng.random() < 0.4:
        words += ["in", _word("city", rng)]
    return " ".join(words)


def _slug(rng: Random) -> str:
    words = [rng.choice([*_SYLLABLES, "web", "shop", "data", "home", "bot", "files"]) for _ in range(rng.randint(2, 3))]
    return rng.choice(["-", "-", "_", ""]).join(words)


_MADE: dict[str, Callable[[Random], str]] = {
    "code": _code,
    "date": _date,
    "phone": _phone,
    "phrase": _phrase,
    "plate": _plate,
    "slug": _slug,
    "ticker": _letters,
    "time": _time,
}
