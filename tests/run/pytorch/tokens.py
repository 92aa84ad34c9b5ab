import math
import torch
from torch import nn

sentences = [["我", "喜欢", "学习"], ["今天", "是", "晴天", "天气", "很好"]]
vocabulary = ["[PAD]", "我", "喜欢", "学习", "今天", "是", "晴天", "天气", "很好"]
width, heads = 16, 4

torch.manual_seed(5)
embedding = nn.Embedding(len(vocabulary), width)
W_q, W_k, W_v, W_o = (nn.Linear(width, width) for _ in range(4))

longest = max(len(sentence) for sentence in sentences)
token_ids = torch.zeros(len(sentences), longest, dtype=torch.long)
for row, sentence in enumerate(sentences):
    for column, token in enumerate(sentence):
        token_ids[row, column] = vocabulary.index(token)

position = torch.arange(longest)[:, None]
frequency = torch.exp(torch.arange(0, width, 2) * -(math.log(10000.0) / width))
positions = torch.zeros(longest, width)
positions[:, 0::2] = torch.sin(position * frequency)
positions[:, 1::2] = torch.cos(position * frequency)
x = embedding(token_ids) + positions

q, k, v = (W(x).unflatten(-1, (heads, -1)).transpose(1, 2) for W in (W_q, W_k, W_v))
scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
scores = scores.masked_fill((token_ids == 0)[:, None, None, :], -math.inf)
weights = torch.softmax(scores, dim=-1)
output = W_o((weights @ v).transpose(1, 2).flatten(2))
print(weights[0, 0])
print(output[0, 0])
