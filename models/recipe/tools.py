"""The tools the adapters are trained on, all invented; the held-out ones live in the demo pack.

An argument is `name:kind`. A kind is a word pool of values.py, `lo..hi` (whole numbers when both
ends are whole), `bool`, an enum `a|b|c`, or any but the last two with a `*` for an array. In a
phrasing `{name}` stands for the value and `{name:yes/no}` spells out a boolean. An argument that
some phrasing leaves out is optional. A phrasing in lower case is an order, to be framed as a
request; one with a capital is a whole sentence.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and the ways people ask for it."""

    name: str
    description: str
    arguments: dict[str, str]
    phrasings: tuple[str, ...]

    @property
    def required(self) -> list[str]:
        """The arguments every phrasing mentions."""
        return [a for a in self.arguments if all(f"{{{a}" in p for p in self.phrasings)]


def _tool(name: str, description: str, arguments: str, *phrasings: str) -> Tool:
    kinds = dict(argument.split(":", 1) for argument in arguments.split())
    return Tool(name, description, kinds, phrasings)


TOOLS = (
    _tool(
        "reserve_table",
        "Reserve a table at a restaurant.",
        "restaurant:venue guests:1..12 time:time outdoor:bool",
        "reserve a table for {guests} at {restaurant} at {time}",
        "book {restaurant} for {guests} people at {time}, {outdoor:outside/inside}",
    ),
    _tool(
        "call_taxi",
        "Send a taxi to an address.",
        "pickup:street destination:venue",
        "call a taxi from {pickup} to {destination}",
        "I need a cab at {pickup} that takes me to {destination}.",
    ),
    _tool(
        "rent_bike",
        "Rent bicycles by the hour.",
        "station:street hours:2..10 count:2..6",
        "rent {count} bikes at {station} for {hours} hours",
        "get me a bike at {station} for {hours} hours",
    ),
    _tool(
        "find_train",
        "Look up train connections between two cities.",
        "origin:city destination:city date:date",
        "find a train from {origin} to {destination} on {date}",
        "Which trains run from {origin} to {destination}?",
    ),
    _tool(
        "reserve_hotel",
        "Reserve a hotel room.",
        "city:city nights:2..14 breakfast:bool",
        "reserve a hotel in {city} for {nights} nights {breakfast:with/without} breakfast",
        "book {nights} nights at a hotel in {city}, {breakfast:breakfast included/no breakfast}",
    ),
    _tool(
        "check_tides",
        "Get the tide table of a harbour.",
        "harbour:city date:date",
        "check the tides in {harbour} on {date}",
        "When is high tide in {harbour} on {date}?",
    ),
    _tool(
        "measure_distance",
        "Compute the distance between two places.",
        "start:city end:city unit:km|miles",
        "measure the distance from {start} to {end} in {unit}",
        "How far is it from {start} to {end}, in {unit}?",
    ),
    _tool(
        "list_museums",
        "List the museums of a city.",
        "city:city limit:3..30",
        "list {limit} museums in {city}",
        "show me museums in {city}",
    ),
    _tool(
        "get_visa_rules",
        "Look up the visa rules for travellers.",
        "nationality:country destination:country",
        "look up the visa rules for citizens of {nationality} going to {destination}",
        "Do people from {nationality} need a visa for {destination}?",
    ),
    _tool(
        "park_car",
        "Pay for a parking spot.",
        "plate:plate zone:1..40 minutes:15..240",
        "park {plate} in zone {zone} for {minutes} minutes",
        "pay {minutes} minutes of parking for the car {plate} in zone {zone}",
    ),
    _tool(
        "add_task",
        "Add a task to the to-do list.",
        "task:chore priority:low|normal|high due:weekday",
        "add the task {task} with {priority} priority",
        "put {task} on my list with {priority} priority, due {due}",
    ),
    _tool(
        "complete_task",
        "Mark a task as done.",
        "task_id:10..999",
        "mark task {task_id} as done",
        "close task number {task_id}",
    ),
    _tool(
        "start_timer",
        "Start a countdown timer.",
        "minutes:2..90 label:food",
        "start a timer of {minutes} minutes for the {label}",
        "set a {minutes} minute timer",
    ),
    _tool(
        "write_note",
        "Save a note under a title.",
        "title:topic body:message",
        'write a note called {title} that says "{body}"',
        'save "{body}" as a note titled {title}',
    ),
    _tool(
        "invite_people",
        "Invite people to an event.",
        "event:event people:person*",
        "invite {people} to the {event}",
        "send invitations for the {event} to {people}",
    ),
    _tool(
        "book_room",
        "Book a meeting room.",
        "room:room weekday:weekday hours:2..8 projector:bool",
        "book the {room} room on {weekday} for {hours} hours",
        "reserve room {room} for {hours} hours on {weekday} {projector:with/without} a projector",
    ),
    _tool(
        "text_contact",
        "Send a text message to a contact.",
        "contact:person message:message",
        'text {contact} "{message}"',
        "tell {contact} that {message}",
        "send {contact} a text saying {message}",
    ),
    _tool(
        "call_number",
        "Dial a phone number.",
        "number:phone speaker:bool",
        "call {number}",
        "dial {number} with the speaker {speaker:on/off}",
    ),
    _tool(
        "forward_mail",
        "Forward a mail to other addresses.",
        "mail_id:100..9999 recipients:email*",
        "forward mail {mail_id} to {recipients}",
        "pass message number {mail_id} on to {recipients}",
    ),
    _tool(
        "schedule_post",
        "Schedule a post on a social network.",
        "network:Mastodon|LinkedIn|Bluesky text:message time:time",
        'schedule a post on {network} at {time}: "{text}"',
        'post "{text}" on {network} at {time}',
    ),
    _tool(
        "dim_lights",
        "Set the brightness of the lights in a room.",
        "room:room level:5..100",
        "dim the {room} lights to {level} percent",
        "set the lights in the {room} to {level}%",
    ),
    _tool(
        "set_thermostat",
        "Set the temperature of a room.",
        "room:room degrees:15.5..25.5",
        "set the {room} to {degrees} degrees",
        "heat the {room} to {degrees} degrees",
    ),
    _tool(
        "lock_door",
        "Lock or unlock a door.",
        "door:front|back|garage locked:bool",
        "{locked:lock/unlock} the {door} door",
        "make sure that the {door} door is {locked:locked/unlocked}",
    ),
    _tool(
        "run_vacuum",
        "Send the robot vacuum to clean rooms.",
        "rooms:room* mode:quiet|normal|turbo",
        "vacuum the {rooms} in {mode} mode",
        "clean the {rooms} with the vacuum set to {mode}",
    ),
    _tool(
        "water_plants",
        "Water the plants in a garden zone.",
        "zone:1..9 litres:0.5..9.5",
        "water zone {zone} with {litres} litres",
        "give the plants in zone {zone} {litres} litres of water",
    ),
    _tool(
        "feed_pet",
        "Release food for a pet.",
        "pet:pet grams:20..300",
        "feed {pet} {grams} grams",
        "give {pet} {grams} grams of food",
    ),
    _tool(
        "open_blinds",
        "Open or close the blinds.",
        "room:room open:bool",
        "{open:open/close} the blinds in the {room}",
        "have the {room} blinds {open:opened/closed}",
    ),
    _tool(
        "buy_groceries",
        "Order groceries for delivery.",
        "items:food* express:bool",
        "buy {items}",
        "order {items} with {express:express/normal} delivery",
    ),
    _tool(
        "count_calories",
        "Estimate the calories of a portion.",
        "food:food grams:50..500",
        "count the calories in {grams} grams of {food}",
        "How many calories do {grams} grams of {food} have?",
    ),
    _tool(
        "plan_meals",
        "Plan meals for some days.",
        "days:2..7 diet:vegan|vegetarian|keto avoid:food*",
        "plan {diet} meals for {days} days",
        "make a {diet} meal plan for {days} days without {avoid}",
    ),
    _tool(
        "log_workout",
        "Log a workout.",
        "activity:running|swimming|rowing|yoga minutes:10..120 distance_km:1.5..20.5",
        "log {minutes} minutes of {activity}",
        "write down that I did {minutes} minutes of {activity} over {distance_km} km",
    ),
    _tool(
        "record_weight",
        "Record a body weight.",
        "person:person kilos:48.5..109.5",
        "record a weight of {kilos} kilos for {person}",
        "note that {person} weighs {kilos} kg",
    ),
    _tool(
        "refill_prescription",
        "Refill a prescription at a pharmacy.",
        "medicine:medicine boxes:2..6",
        "refill {boxes} boxes of {medicine}",
        "get me {boxes} more boxes of {medicine}",
    ),
    _tool(
        "transfer_money",
        "Transfer money to a person.",
        "recipient:person amount:5.5..950.5 currency:EUR|USD|GBP",
        "transfer {amount} {currency} to {recipient}",
        "send {recipient} {amount} {currency}",
    ),
    _tool(
        "pay_invoice",
        "Pay an invoice.",
        "invoice:code amount:20.5..2000.5",
        "pay invoice {invoice} of {amount}",
        "settle {invoice} for {amount} euros",
    ),
    _tool(
        "split_bill",
        "Split a bill between people.",
        "total:10.5..400.5 people:person* tip_percent:5..25",
        "split a bill of {total} between {people}",
        "divide {total} among {people} with a tip of {tip_percent} percent",
    ),
    _tool(
        "compute_tax",
        "Compute the sales tax of an amount.",
        "amount:10..5000 rate:4.5..24.5",
        "compute the tax on {amount} at a rate of {rate} percent",
        "How much is {rate}% tax on {amount}?",
    ),
    _tool(
        "average_numbers",
        "Compute the average of numbers.",
        "numbers:1..99*",
        "average the numbers {numbers}",
        "What is the mean of {numbers}?",
    ),
    _tool(
        "convert_length",
        "Convert a length to another unit.",
        "value:1..500 from_unit:metres|feet|inches to_unit:yards|centimetres",
        "convert {value} {from_unit} to {to_unit}",
        "How many {to_unit} are {value} {from_unit}?",
    ),
    _tool(
        "draw_chart",
        "Draw a chart of values.",
        "kind:bar|line|pie values:1..99* title:topic",
        "draw a {kind} chart of {values}",
        "make a {kind} chart titled {title} with the values {values}",
    ),
    _tool(
        "search_books",
        "Search the library catalogue.",
        "query:topic language:language available:bool",
        "search for books about {query} in {language}",
        "find {available:available/any} books on {query}",
    ),
    _tool(
        "renew_loan",
        "Renew a library loan.",
        "title:title weeks:2..6",
        "renew {title} for {weeks} weeks",
        "extend my loan of {title} by {weeks} weeks",
    ),
    _tool(
        "queue_movie",
        "Add a movie to the watch list.",
        "title:title subtitles:language",
        "add {title} to my watch list",
        "queue the movie {title} with {subtitles} subtitles",
    ),
    _tool(
        "rate_show",
        "Rate a show from one to ten.",
        "title:title stars:2..10",
        "rate {title} with {stars} stars",
        "give {title} {stars} out of ten",
    ),
    _tool(
        "define_word",
        "Look up a word in the dictionary.",
        "word:word language:language",
        "define the {language} word {word}",
        "What does {word} mean in {language}?",
    ),
    _tool(
        "search_jobs",
        "Search for job offers.",
        "role:job city:city remote:bool",
        "find jobs as a {role} in {city}",
        "search {remote:remote/on-site} {role} jobs in {city}",
    ),
    _tool(
        "open_ticket",
        "Open a support ticket.",
        "subject:problem severity:minor|major|critical",
        "open a {severity} ticket about {subject}",
        "file a ticket for {subject} with {severity} severity",
    ),
    _tool(
        "restart_server",
        "Restart a server.",
        "host:host force:bool delay_seconds:5..300",
        "restart {host}",
        "restart {host} in {delay_seconds} seconds, {force:forced/not forced}",
    ),
    _tool(
        "copy_file",
        "Copy a file to a folder.",
        "source:file target:folder overwrite:bool",
        "copy {source} to {target}",
        "copy {source} into {target} and {overwrite:overwrite/do not overwrite} what is there",
    ),
    _tool(
        "find_files",
        "Find files by their extension.",
        "folder:folder extension:pdf|csv|png|txt limit:5..90",
        "find the {extension} files in {folder}",
        "list at most {limit} {extension} files in {folder}",
    ),
    _tool(
        "resize_image",
        "Resize an image.",
        "file:file width:100..2000 height:100..2000",
        "resize {file} to {width} by {height}",
        "make {file} {width} pixels wide and {height} pixels high",
    ),
    _tool(
        "query_table",
        "Read rows from a database table.",
        "table:dataset columns:column* limit:5..500",
        "read the columns {columns} from {table}",
        "get {limit} rows of {columns} from the table {table}",
    ),
    _tool(
        "tag_photo",
        "Add tags to a photo.",
        "photo:file tags:topic*",
        "tag {photo} with {tags}",
        "add the tags {tags} to the photo {photo}",
    ),
    _tool(
        "paint_wall",
        "Order paint for a wall.",
        "colour:colour square_metres:5..80 coats:2..3",
        "order {colour} paint for {square_metres} square metres",
        "get {colour} paint for {square_metres} square metres and {coats} coats",
    ),
)
